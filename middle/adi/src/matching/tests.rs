//! Both tables against a plain list, by chance; and how much work they do.

use bcl_raw::slab::Id;
use proptest::prelude::*;

use super::*;

/// Few sources, tags and masks, so that all kinds of patterns meet all kinds of messages.
fn pattern() -> impl Strategy<Value = Pattern> {
    let ignore = prop_oneof![3 => Just(0), 1 => 0u64..16, 1 => Just(!0), 1 => any::<u64>()];
    (prop::option::of(0u32..3), 0u64..6, ignore).prop_map(|(source, tag, ignore)| Pattern {
        source,
        tag,
        ignore,
    })
}

#[derive(Debug, Clone)]
enum Step {
    Receive(Pattern),
    Message(u32, u64),
    /// Takes one out that is not the oldest, by its place in the list.
    CancelReceive(prop::sample::Index),
    TakeMessage(prop::sample::Index),
}

/// More receives than messages or fewer, so that many wait of one kind or of the other.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    (1u32..16, 1u32..16).prop_flat_map(|(receives, messages)| {
        let step = prop_oneof![
            receives => pattern().prop_map(Step::Receive),
            messages => (0u32..3, 0u64..6).prop_map(|(source, tag)| Step::Message(source, tag)),
            2 => any::<prop::sample::Index>().prop_map(Step::CancelReceive),
            2 => any::<prop::sample::Index>().prop_map(Step::TakeMessage),
        ];
        prop::collection::vec(step, 0..400)
    })
}

/// The plain lists.
#[derive(Default)]
struct Lists {
    receives: Vec<(Id, Pattern)>,
    messages: Vec<(Id, u32, u64)>,
}

proptest! {
    /// ADI-3.2: who meets whom is what going through two lists from the beginning gives.
    #[test]
    fn tables_do_what_lists_do(steps in steps()) {
        let (mut posted, mut unexpected) = (Posted::default(), Unexpected::default());
        let mut lists = Lists::default();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Receive(pattern) => {
                    let place = lists.messages.iter().position(|(_, source, tag)| pattern.fits(*source, *tag));
                    let found = unexpected.first(&pattern);
                    prop_assert_eq!(found, place.map(|place| lists.messages[place].0));
                    if let Some(place) = place {
                        let (id, source, tag) = lists.messages.remove(place);
                        let (of, with, _) = unexpected.remove(id).unwrap();
                        prop_assert_eq!((of, with), (source, tag));
                    } else {
                        lists.receives.push((posted.add(pattern, number), pattern));
                    }
                }
                Step::Message(source, tag) => {
                    let place = lists.receives.iter().position(|(_, pattern)| pattern.fits(source, tag));
                    let found = posted.first(source, tag);
                    prop_assert_eq!(found, place.map(|place| lists.receives[place].0));
                    if let Some(place) = place {
                        let (id, _) = lists.receives.remove(place);
                        prop_assert!(posted.remove(id).is_some());
                    } else {
                        lists.messages.push((unexpected.add(source, tag, number), source, tag));
                    }
                }
                Step::CancelReceive(place) if !lists.receives.is_empty() => {
                    let (id, _) = lists.receives.remove(place.index(lists.receives.len()));
                    prop_assert!(posted.remove(id).is_some());
                    prop_assert_eq!(posted.remove(id), None);
                }
                Step::TakeMessage(place) if !lists.messages.is_empty() => {
                    let (id, ..) = lists.messages.remove(place.index(lists.messages.len()));
                    prop_assert!(unexpected.remove(id).is_some());
                    prop_assert!(unexpected.remove(id).is_none());
                }
                Step::CancelReceive(_) | Step::TakeMessage(_) => {}
            }
            prop_assert_eq!(posted.len(), lists.receives.len());
            prop_assert_eq!(unexpected.len(), lists.messages.len());
        }
    }
}
