//! SEM-1: ports and addresses.

use bcl::{Address, Error, NodeId, OpError};
use bcl_testing::{PortLike, conformance};

conformance! {
    /// SEM-1.1
    fn an_address_is_a_node_and_a_number(world) {
        let a = world.open();
        let text = a.address.to_string();
        assert!(text.starts_with(&format!("{}:", world.node())), "{text}");
        assert_eq!(text.parse::<Address>().unwrap(), a.address);
    }

    /// SEM-1.1
    fn a_port_reaches_itself(world) {
        let a = world.open();
        a.port().send_system(a.address, b"me", 1).unwrap();
        assert_eq!(a.message(), (a.address, b"me".to_vec()));
        a.port().post(1, vec![0; 100_000], 2).unwrap();
        a.port().send(a.address, 1, vec![3; 100_000], 3).unwrap();
        assert_eq!(a.sent(3).0, Ok(()));
        assert_eq!(a.received(2), (Ok(()), 100_000, vec![3; 100_000]));
    }

    /// SEM-1.2, SEM-9.1
    fn numbers_are_assigned_or_asked_for(world) {
        let (a, b) = world.pair();
        assert!(a.address.port >= 1024 && b.address.port >= 1024);
        assert_ne!(a.address, b.address);
        let known = world.open_with(world.options().number(7));
        assert_eq!(known.address.port, 7);
        let taken = F::open(world.options().number(7)).unwrap_err();
        assert!(matches!(taken, Error::PortInUse(_)), "{taken}");
        assert!(taken.to_string().contains(":7"), "{taken}");
        a.meet(&known);
        let none = F::open(world.options().number(0)).unwrap_err();
        assert!(matches!(none, Error::InvalidArgument(_)), "{none}");
    }

    /// SEM-1.2: ports of one process are told apart by their address, in whatever folder they are.
    fn one_address_in_two_folders_is_refused_in_one_process(world) {
        let here = world.open_with(world.options().number(7));
        let elsewhere = bcl_testing::World::<F>::new();
        let again = F::open(elsewhere.options().node(world.node()).number(7)).unwrap_err();
        assert!(matches!(again, Error::PortInUse(_)), "{again}");
        let another = elsewhere.open_with(elsewhere.options().node(world.node()));
        assert_ne!(another.address, here.address);
    }

    /// SEM-1.3
    fn a_closed_port_leaves_its_number(world) {
        for _ in 0..3 {
            let known = world.open_with(world.options().number(9));
            assert_eq!(world.names(), [known.address.to_string()]);
            drop(known);
            assert!(world.names().is_empty());
        }
    }

    /// SEM-1.4
    fn nobody_is_there(world) {
        let a = world.open();
        let nobody = Address { port: 1, ..a.address };
        a.port().send_system(nobody, b"x", 1).unwrap();
        a.port().send(nobody, 1, vec![1; 5], 2).unwrap();
        a.port().get(nobody, 0, 0, vec![1; 5], 3).unwrap();
        assert_eq!(a.sent(1).0, Err(OpError::NoPort));
        assert_eq!(a.sent(2).0, Err(OpError::NoPort));
        assert_eq!(a.rma(3).0, Err(OpError::NoPort));
        let elsewhere = Address { node: NodeId([10, 9, 8, 7].into()), port: 1 };
        a.port().send_system(elsewhere, b"x", 4).unwrap();
        assert_eq!(a.sent(4).0, Err(OpError::Unreachable));
        let zero = Address { port: 0, ..a.address };
        assert!(matches!(a.port().send_system(zero, b"x", 5), Err(Error::InvalidArgument(_))));
    }

    /// SEM-1.5
    fn both_sides_connect_at_once_and_share_one_connection(world) {
        for _ in 0..20 {
            let (a, b) = world.pair();
            a.port().send_system(b.address, b"from a", 1).unwrap();
            b.port().send_system(a.address, b"from b", 1).unwrap();
            assert_eq!(b.message(), (a.address, b"from a".to_vec()));
            assert_eq!(a.message(), (b.address, b"from b".to_vec()));
            for (one, other) in [(&a, &b), (&b, &a)] {
                one.peer_up(other.address);
                let peers = one.port().peers();
                assert_eq!(peers.len(), 1);
                assert_eq!(peers[0].address, other.address);
                assert_eq!(peers[0].device, F::DEVICE);
                assert!(!peers[0].copy.is_empty());
            }
        }
    }
}
