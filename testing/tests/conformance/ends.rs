//! SEM-7: a port closes while its peer lives. The ends of processes are in `tests/processes`.

use bcl::{Access, Cause, OpError};
use bcl_testing::{PortLike, conformance};

conformance! {
    /// SEM-7.1, SEM-7.2, SEM-7.3
    fn closing_fails_what_is_pending_at_the_peers(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        a.port().send(b.address, 1, vec![1; 5], 1).unwrap();
        a.port().send(b.address, 2, vec![1; 500_000], 2).unwrap();
        a.serve();
        b.port().send(a.address, 3, vec![1; 5], 3).unwrap();
        let address = b.address;
        drop(b);
        let gone = OpError::PeerGone(Cause::Closed);
        assert_eq!(a.sent(1).0, Err(gone));
        assert_eq!(a.sent(2).0, Err(gone));
        assert_eq!(a.peer_gone(address), Cause::Closed);
        assert!(a.port().peers().is_empty());
        a.port().send_system(address, b"x", 4).unwrap();
        assert_eq!(a.sent(4).0, Err(OpError::NoPort));
    }

    /// SEM-7.4
    fn what_was_sent_before_closing_arrives(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        b.port().post(1, vec![0; 40], 1).unwrap();
        for seed in 0..20u8 {
            a.port().send_system(b.address, &[seed; 300], 1).unwrap();
        }
        a.port().send(b.address, 1, vec![4; 40], 2).unwrap();
        let address = a.address;
        drop(a);
        for seed in 0..20u8 {
            assert_eq!(b.message(), (address, vec![seed; 300]));
        }
        assert_eq!(b.received(1), (Ok(()), 40, vec![4; 40]));
        assert_eq!(b.peer_gone(address), Cause::Closed);
    }

    /// SEM-7.6
    fn a_number_opened_anew_is_a_new_peer(world) {
        let a = world.open();
        for round in 0..10 {
            let b = world.open_with(world.options().number(5));
            b.port().bind(0, vec![0; 8], Access::ALL).unwrap();
            b.meet(&a);
            a.port().fetch_add(b.address, 0, 0, 1, round).unwrap();
            assert_eq!(a.rma(round).0, Ok(0));
            drop(b);
        }
    }
}
