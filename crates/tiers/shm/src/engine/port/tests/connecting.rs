//! There is nobody: what waited for the connection ends, and then the attempt.

use bcl_types::{Address, OpError};

use super::{ShmPort, Single, opening};
use crate::testing::{End, Ports, Told};

/// Begins all that can wait for a connection. What is to be told of it if nobody is there.
fn begin(me: &mut End<ShmPort>, peer: Address) -> Vec<Told> {
    let error = OpError::NoPort;
    let system = me
        .send_system(peer, 100, 0)
        .expect("it waits for a connection");
    let normal = [0, 100, 1 << 20].map(|len_bytes| me.send(peer, len_bytes, 0));
    let rma = [me.put(peer, 100), me.get(peer, 1 << 20)];
    let sends = [system].into_iter().chain(normal);
    let sends = sends.map(|op| Told::Sent(op, Err(error)));
    let rma = rma.into_iter().map(|op| Told::RmaDone(op, Err(error)));
    sends.chain(rma).collect()
}

fn expect(me: &mut End<ShmPort>, all: &[Told]) {
    me.poll_until(|program| program.heard(Told::Unreached));
    assert_eq!(me.program.told.pop(), Some(Told::Unreached));
    for told in all {
        assert!(me.program.heard(*told), "{told:?} in {:?}", me.program.told);
    }
    me.poll();
    assert_eq!(me.program.told.len(), all.len(), "{:?}", me.program.told);
}

#[test]
fn nobody_there() {
    let mut me = Single::open();
    let peer = opening().shared.address;
    let all = begin(&mut me, peer);
    expect(&mut me, &all);
}

#[test]
fn somebody_who_goes_without_an_answer() {
    let mut me = Single::open();
    let peer = opening();
    let all = begin(&mut me, peer.shared.address);
    me.poll();
    assert_eq!(me.program.told, []);
    drop(peer);
    expect(&mut me, &all);
}
