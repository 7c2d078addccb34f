//! What is completed on one side is read on the other.

use super::*;
use crate::lab::{Lab, Shared, close, zeroed};

fn open(lab: &Lab, size: usize, wait_obj: u32) -> &'static Cq {
    let mut attr: fi_cq_attr = zeroed();
    (attr.size, attr.wait_obj, attr.format) = (size, wait_obj, FI_CQ_FORMAT_TAGGED);
    lab.open(cq::open, &mut attr)
}

/// Reads up to `count` tags, and who has sent them; or the code of the refusal.
fn read(cq: &Cq, count: usize, timeout_ms: Option<i32>) -> Result<Vec<(u64, u64)>, i32> {
    let mut entries = vec![zeroed::<fi_cq_tagged_entry>(); count];
    let mut sources = vec![0; count];
    let (buffer, sources_at) = (entries.as_mut_ptr().cast(), sources.as_mut_ptr());
    let fid = (&raw const *cq).cast_mut().cast();
    // SAFETY: a queue, and room for as many.
    let read = unsafe {
        match timeout_ms {
            None => calls::readfrom(fid, buffer, count, sources_at),
            Some(timeout_ms) => {
                calls::sreadfrom(fid, buffer, count, sources_at, ptr::null(), timeout_ms)
            }
        }
    };
    match usize::try_from(read) {
        Ok(read) => Ok(entries[..read]
            .iter()
            .map(|entry| entry.tag)
            .zip(sources)
            .collect()),
        Err(_) => Err(-read as i32),
    }
}

fn read_error(cq: &Cq) -> Option<fi_cq_err_entry> {
    let mut entry: fi_cq_err_entry = zeroed();
    let fid = (&raw const *cq).cast_mut().cast();
    // SAFETY: a queue, and room for an entry.
    let read = unsafe { calls::readerr(fid, &raw mut entry, 0) };
    (read == 1).then_some(entry)
}

#[test]
fn completions_and_errors_are_read_in_turn() {
    for threading in [FI_THREAD_SAFE, FI_THREAD_DOMAIN] {
        let lab = Lab::new(threading);
        let cq = open(&lab, 8, FI_WAIT_NONE);
        let sink = cq.sink();
        assert_eq!((sink.room(), cq.is_quiet()), (8, true));
        (0..3).for_each(|number| sink.push(completion(number)));
        sink.push_failed(failed(3));
        sink.push(completion(4));
        assert_eq!((sink.room(), cq.is_quiet()), (3, false));
        assert_eq!(read(cq, 0, None), Err(FI_EAGAIN));
        assert_eq!(read(cq, 2, None), Ok(vec![(4, 5), (5, 6)]));
        assert!(read_error(cq).is_none(), "a completion is first");
        assert_eq!(read(cq, 8, None), Ok(vec![(6, 7)]), "up to the error");
        assert_eq!(read(cq, 8, None), Err(FI_EAVAIL));
        let error = read_error(cq).unwrap();
        assert_eq!((error.err, error.tag, error.src_addr), (FI_ETRUNC, 7, 8));
        assert_eq!(read(cq, 8, None), Ok(vec![(8, 9)]));
        assert_eq!(read(cq, 8, None), Err(FI_EAGAIN));
        assert_eq!(close(cq), -FI_EBUSY, "somebody completes there");
        drop(sink);
        assert_eq!(close(cq), 0);
    }
}

#[test]
fn who_waits_is_woken_by_a_completion_and_by_an_error() {
    let lab = Lab::new(FI_THREAD_SAFE);
    let cq = open(&lab, 8, FI_WAIT_UNSPEC);
    let sink = cq.sink();
    let shared = Shared(cq);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| read(shared.get(), 8, Some(-1)));
        sink.push(completion(0));
        assert_eq!(waiter.join().unwrap(), Ok(vec![(4, 5)]));
        let waiter = scope.spawn(|| read(shared.get(), 8, Some(-1)));
        sink.push_failed(failed(1));
        assert_eq!(waiter.join().unwrap(), Err(FI_EAVAIL));
    });
    drop(sink);
    assert_eq!(close(cq), 0);
}

#[test]
fn the_descriptor_tells_of_all_that_can_be_read() {
    let lab = Lab::new(FI_THREAD_SAFE);
    let cq = open(&lab, 2, FI_WAIT_FD);
    let sink = cq.sink();
    let mut fd = -1;
    // SAFETY: a queue, and a place for the descriptor, which stays open meanwhile.
    let fd = unsafe {
        let fid = (&raw const *cq).cast_mut().cast();
        assert_eq!(calls::control(fid, FI_GETWAIT, (&raw mut fd).cast()), 0);
        std::os::fd::BorrowedFd::borrow_raw(fd)
    };
    let rings = || bcl_os::ready::is_readable(fd);
    assert!(!rings());
    (0..3).for_each(|number| sink.push(completion(number)));
    assert!(rings());
    assert_eq!(read(cq, 1, None).map(|read| read.len()), Ok(1));
    assert!(rings(), "one more is there");
    assert_eq!(read(cq, 8, None).map(|read| read.len()), Ok(1));
    assert!(rings(), "and an error");
    assert_eq!(read_error(cq).map(|error| error.err), Some(FI_EOVERRUN));
    assert!(!rings());
    sink.push(completion(0));
    assert_eq!(read(cq, 8, None).map(|read| read.len()), Ok(1));
    assert!(!rings(), "all of it was read, and there was room for more");
    drop(sink);
    assert_eq!(close(cq), 0);
}
