//! The receiver has no room: messages of a class are refused until the first of them comes again ([WIRE-9]).

use bcl_wire::serial::before;

use super::Class;

/// A message that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub message: u32,
    /// Sequence of its first packet.
    pub sequence: u32,
}

/// What a receiver refuses of one sender.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    /// By [`Class`].
    refused: [Option<Refused>; 2],
    /// The sender is to be told.
    tell: [bool; 2],
}

impl Refusals {
    #[inline]
    pub fn is_refusing(&self) -> bool {
        self.refused.iter().any(Option::is_some)
    }

    pub fn of(&self, class: Class) -> Option<Refused> {
        self.refused[class as usize]
    }

    /// Whether the first packet of this message must be refused because an earlier one was; tells the sender again,
    /// who may not know it yet.
    #[inline]
    pub fn stands_before(&mut self, class: Class, message: u32) -> bool {
        let stands = self
            .of(class)
            .is_some_and(|refused| refused.message != message);
        if stands {
            self.tell[class as usize] = true;
        }
        stands
    }

    pub fn refuse(&mut self, class: Class, message: u32, sequence: u32) {
        self.refused[class as usize] = Some(Refused { message, sequence });
        self.tell[class as usize] = true;
    }

    #[inline]
    pub fn accept(&mut self, class: Class) {
        self.refused[class as usize] = None;
        self.tell[class as usize] = false;
    }

    /// The sender may not have heard.
    pub fn tell_again(&mut self, class: Class) {
        self.tell[class as usize] = self.of(class).is_some();
    }

    /// As somebody else has left it.
    pub fn resume(&mut self, class: Class, message: u32, sequence: u32) {
        self.refused[class as usize] = Some(Refused { message, sequence });
    }

    #[inline]
    pub fn must_tell(&self) -> bool {
        self.tell.contains(&true)
    }

    /// The next class of which the sender is to be told.
    pub fn next_to_tell(&mut self) -> Option<(Class, Refused)> {
        for class in [Class::System, Class::Normal] {
            let tell = std::mem::take(&mut self.tell[class as usize]);
            if let Some(refused) = self.of(class).filter(|_| tell) {
                return Some((class, refused));
            }
        }
        None
    }

    /// The acknowledgement in packets that cannot say what is refused: it stops at the first refused packet,
    /// so that nobody takes a refused message for delivered ([WIRE-9.5]).
    #[inline]
    pub fn plain_ack(&self, expected: u32) -> u32 {
        let mut ack = expected;
        for refused in self.refused.iter().flatten() {
            if before(refused.sequence, ack) {
                ack = refused.sequence;
            }
        }
        ack
    }
}

#[test]
fn a_refusal_ends_with_its_message() {
    let mut refusals = Refusals::default();
    assert!(!refusals.stands_before(Class::System, 3));
    refusals.refuse(Class::System, 3, 10);
    assert!(!refusals.stands_before(Class::System, 3));
    assert!(refusals.stands_before(Class::System, 4));
    assert!(!refusals.stands_before(Class::Normal, 4));
    assert_eq!(refusals.plain_ack(20), 10);
    let (message, sequence) = (3, 10);
    let refused = Refused { message, sequence };
    assert_eq!(refusals.next_to_tell(), Some((Class::System, refused)));
    assert_eq!(refusals.next_to_tell(), None);
    refusals.accept(Class::System);
    assert_eq!(
        (refusals.plain_ack(20), refusals.is_refusing()),
        (20, false)
    );
}
