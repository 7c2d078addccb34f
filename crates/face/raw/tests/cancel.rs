//! Sends are taken back by the name of the operation, whatever their cookies.

use std::path::PathBuf;

use bcl_raw::{
    Address, Error, Event, OpError, OpId, Options, Pieces, QUIET, RawPort, Source, Which,
};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sends memory that lives for ever.
fn send(port: &mut RawPort, to: Address, data: &'static [u8]) -> OpId {
    let source = Source {
        memory: Pieces::one(data.as_ptr().cast_mut(), data.len()),
        region: None,
    };
    // SAFETY: the data stays as it is for ever.
    unsafe { port.send(to, 1, source, 0, None, QUIET) }.expect("a send starts")
}

fn canceled_len(port: &mut RawPort) -> u64 {
    match port.poll(Which::Send).expect("the port is open") {
        Some(Event::Sent {
            cookie: QUIET,
            len_bytes,
            result: Err(OpError::Canceled),
            ..
        }) => len_bytes,
        other => panic!("no send was canceled: {other:?}"),
    }
}

/// SEM-4.9, SEM-3.4: nothing is connected before the port is polled, and quiet operations tell of failures.
#[test]
fn the_send_that_is_named_is_taken_back() {
    let name = format!("bcl-raw-cancel-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    let options = Options {
        folder: Some(folder.0.clone()),
        ..Options::default()
    };
    let mut port = options.clone().open().expect("a port opens");
    let other = options.open().expect("a port opens");
    let to = other.address();
    let own = port.address();
    let ops = [&b"1"[..], b"22", b"333"].map(|data| send(&mut port, to, data));

    let elsewhere = port.cancel_send_op(own, ops[1]);
    assert!(matches!(elsewhere, Err(Error::NotFound(_))));
    port.cancel_send_op(to, ops[1]).expect("it has not begun");
    let again = port.cancel_send_op(to, ops[1]);
    assert!(matches!(again, Err(Error::NotFound(_))));
    port.cancel_send_op(to, ops[2]).expect("it has not begun");
    assert_eq!(canceled_len(&mut port), 2);
    assert_eq!(canceled_len(&mut port), 3);
    let connected = port.wait(Which::Recv, None).expect("a wait");
    assert!(matches!(connected, Some(Event::PeerUp { .. })));
    let begun = port.cancel_send_op(to, ops[0]);
    assert!(matches!(begun, Err(Error::NotFound(_))));
}
