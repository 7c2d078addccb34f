//! The longest messages that are promised.

use bcl::{CopyMode, Event};
use bcl_testing::peer::Peer;
use bcl_testing::{World, contents};

const GIB: usize = 1 << 30;

/// SEM-4.5. Both ways in one test: two of them at once would take 4 GiB.
#[test]
fn a_message_of_a_gibibyte_arrives_whole_in_both_copy_modes() {
    for copy in [CopyMode::Single, CopyMode::Stream] {
        let world: World = World::new();
        let us = world.open_with(world.options().copy_mode(copy));
        let mut peer = Peer::start_copying(world.folder(), copy);
        us.port().post(1, vec![0; GIB], 1).unwrap();
        peer.tell(&format!("send {} 1 {GIB} sparse", us.address));
        peer.order("sent");
        // However long that takes on a busy machine: nextest ends a test that hangs.
        let event = loop {
            us.serve();
            if let Some(event) = us.find(|event| matches!(event, Event::Received { .. })) {
                break event;
            }
        };
        let Event::Received {
            result,
            len_bytes,
            buffer,
            ..
        } = event
        else {
            unreachable!("it was picked as the end of a post")
        };
        assert_eq!((result, len_bytes), (Ok(()), GIB as u64), "{copy:?}");
        let bytes = buffer.expect("posts bring their buffer back").into_vec();
        contents::check_sparse(GIB as u64, &bytes);
        assert_eq!(peer.line(), "ok");
    }
}
