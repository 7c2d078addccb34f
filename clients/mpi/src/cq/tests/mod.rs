mod sink;

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use proptest::prelude::*;

use super::format::Format;
use super::queue::{Completion, Failed, Next, Queue};
use super::{error, *};
use crate::cq;

fn completion(number: usize) -> Completion {
    Completion {
        context: ptr::without_provenance_mut(number),
        flags: FI_RECV,
        len: number + 1,
        buf: ptr::without_provenance_mut(number + 2),
        data: number as u64 + 3,
        tag: number as u64 + 4,
        source: number as u64 + 5,
    }
}

fn failed(number: usize) -> Failed {
    let text = format!("operation {number} was cut short");
    Failed {
        operation: completion(number),
        overflow_len: 7,
        err: FI_ETRUNC,
        text,
    }
}

/// What somebody does with a queue.
#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Fail,
    Take,
}

proptest! {
    /// Whatever happens, a reader sees each operation once and in order, or how many it does not see.
    #[test]
    fn nothing_is_lost_silently(
        size in 1usize..6,
        steps in prop::collection::vec(prop_oneof![Just(Step::Push), Just(Step::Fail), Just(Step::Take)], 0..80),
    ) {
        let mut queue = Queue::new(size);
        let (mut pushed, mut seen) = (0, 0);
        let take = |queue: &mut Queue, seen: &mut usize| match queue.take() {
            Next::Nothing => false,
            Next::Done(done) => {
                assert_eq!(done, completion(*seen));
                *seen += 1;
                true
            }
            Next::Failed => {
                assert_eq!(queue.take(), Next::Failed, "an error stays until it is taken");
                let error = queue.take_failed().unwrap();
                if error.err == FI_EOVERRUN {
                    *seen += error.text.split(' ').next().unwrap().parse::<usize>().unwrap();
                } else {
                    assert_eq!(error, failed(*seen));
                    *seen += 1;
                }
                true
            }
        };
        for step in steps {
            let room = queue.room();
            match step {
                Step::Push => queue.push(completion(pushed)),
                Step::Fail => queue.push_failed(failed(pushed)),
                Step::Take => {
                    take(&mut queue, &mut seen);
                    continue;
                }
            }
            pushed += 1;
            prop_assert_eq!(queue.room(), room.saturating_sub(1));
        }
        while take(&mut queue, &mut seen) {}
        prop_assert_eq!(seen, pushed);
        prop_assert!(queue.is_empty() && queue.room() == size);
    }
}

#[test]
fn who_keeps_to_the_room_loses_nothing() {
    let mut queue = Queue::new(3);
    (0..3).for_each(|number| queue.push(completion(number)));
    assert_eq!(queue.room(), 0);
    assert!((0..3).all(|number| queue.take() == Next::Done(completion(number))));
    assert_eq!((queue.take(), queue.take_failed()), (Next::Nothing, None));
}

#[test]
fn each_format_has_its_fields() {
    let mut room = [MaybeUninit::<fi_cq_tagged_entry>::zeroed(); 2];
    let buffer: *mut c_void = room.as_mut_ptr().cast();
    let word = |index: usize| {
        // SAFETY: twelve words, all of them written or zero.
        unsafe { buffer.cast::<u64>().add(index).read() }
    };
    for (format, words) in [
        (FI_CQ_FORMAT_UNSPEC, 1),
        (FI_CQ_FORMAT_CONTEXT, 1),
        (FI_CQ_FORMAT_MSG, 3),
        (FI_CQ_FORMAT_DATA, 5),
        (FI_CQ_FORMAT_TAGGED, 6),
    ] {
        let expected = [100, FI_RECV, 101, 102, 103, 104];
        // SAFETY: room for two entries of any format.
        unsafe {
            buffer.cast::<u64>().write_bytes(0, 12);
            Format::new(format)
                .unwrap()
                .write(buffer, 1, &completion(100));
        }
        let written: Vec<u64> = (0..12).map(word).collect();
        assert_eq!(written[..words], vec![0; words], "the entry before");
        assert_eq!(written[words..2 * words], expected[..words]);
        assert!(
            written[2 * words..].iter().all(|word| *word == 0),
            "the entry behind"
        );
    }
    assert!(Format::new(9).is_err());
}

#[test]
fn an_error_is_written_as_the_programs_version_has_it() {
    for (version, knows_source) in [
        ((1, 4), false),
        ((1, 19), false),
        ((1, 20), true),
        ((2, 0), true),
    ] {
        let mut entry = MaybeUninit::<fi_cq_err_entry>::zeroed();
        let mut texts = Texts::default();
        // SAFETY: zeros are an entry; and the text is kept.
        let (entry, text) = unsafe {
            (*entry.as_mut_ptr()).src_addr = 42;
            error::write(
                entry.as_mut_ptr(),
                &failed(9),
                fi_version(version.0, version.1),
                &mut texts,
            );
            let entry = entry.assume_init();
            let text = texts.get(entry.prov_errno, ptr::null_mut(), 0);
            (entry, CStr::from_ptr(text))
        };
        assert_eq!(text, c"operation 9 was cut short");
        assert_eq!(
            (entry.err, entry.err_data_size, entry.olen),
            (FI_ETRUNC, 0, 7)
        );
        assert_eq!(
            (entry.op_context.addr(), entry.flags, entry.len),
            (9, FI_RECV, 10)
        );
        assert_eq!((entry.buf.addr(), entry.data, entry.tag), (11, 12, 13));
        assert_eq!(entry.src_addr, if knows_source { 14 } else { 42 });
    }
}
