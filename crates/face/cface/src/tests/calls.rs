//! How calls end, and what their arguments may be.

use std::ptr;
use std::sync::mpsc::channel;
use std::thread;

use super::*;
use crate::{out, range, string};

#[test]
fn a_panic_is_a_defect_and_holds_nobody_up() {
    let (lamp, _woken, was_dropped) = open(false);
    let (waiting, _enters) = channel();
    assert_eq!(lamp.wait(&waiting, || panic!("while it waits")), INTERNAL);
    assert_eq!(
        sentence(),
        "lamp_wait: a defect of BCL itself; please report it with what stderr says"
    );
    let panics_locked = Fake::number("lamp_call", || {
        // SAFETY: open.
        unsafe { Handle::check(lamp.0) }?.with(|_| panic!("with the lock"))
    });
    assert_eq!(panics_locked, INTERNAL);
    assert_eq!((lamp.call(), lamp.close()), (0, 0));
    was_dropped.try_recv().unwrap();
}

#[test]
fn each_thread_has_its_own_last_error() {
    let fail = |text: &str| Fake::status("lamp_call", || Err(Failure::new(-3, text)));
    assert_eq!(sentence(), "");
    assert_eq!(fail("mine\0"), -3);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(sentence(), "");
            assert_eq!(fail("theirs"), -3);
            assert_eq!(sentence(), "lamp_call: theirs");
        });
    });
    assert_eq!(Fake::number("lamp_call", || Ok(7)), 7);
    assert_eq!(sentence(), "lamp_call: mine");
    let failed = Fake::status(
        "lamp_call",
        || Err(Error::NotFound("no such".into()).into()),
    );
    assert_eq!((failed, sentence().as_str()), (OTHER, "lamp_call: no such"));
}

#[test]
fn arguments_that_cannot_be_right_are_refused() {
    let code = |result: Result<(), Failure<Fake>>| Fake::status("lamp_call", || result);
    let mut places = [0_u64; 2];
    let place = places.as_mut_ptr();
    // SAFETY: null, or a place on this stack.
    let put = |place: *mut u64| code(unsafe { out(place, "place") }.map(|out| out.put(7)));
    assert_eq!(put(ptr::null_mut()), INVALID);
    assert_eq!(put(place.wrapping_byte_add(1)), INVALID);
    assert_eq!((put(place), places), (0, [7, 0]));

    let here = place.cast_const().cast::<u8>();
    let of = |start, len| code(range(start, len, "data"));
    assert_eq!((of(here, 16), of(ptr::null(), 0)), (0, 0));
    assert_eq!(of(ptr::null(), 1), INVALID);
    assert_eq!(of(ptr::without_provenance(8), 1 << 63), INVALID);
    assert_eq!(of(ptr::without_provenance(usize::MAX - 9), 10), INVALID);

    // SAFETY: null, or strings.
    let text = |text| unsafe { string::<Fake>(text, "text") };
    assert_eq!(text(c"word".as_ptr()).unwrap(), "word");
    assert!(text(ptr::null()).is_err() && text(c"\xff".as_ptr()).is_err());
}
