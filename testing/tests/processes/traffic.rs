//! 10,000 messages each way, on all kinds of channels at once.

use bcl_testing::World;
use bcl_testing::peer::{Peer, command};

fn exchange(copy: &str) {
    let world: World = World::new();
    let mut peers: Vec<Peer> = [("101", "127.0.0.1:102"), ("102", "127.0.0.1:101")]
        .into_iter()
        .map(|(own, other)| {
            let mut command = command(world.folder(), &["traffic", own, other, "10000", "300000"]);
            command.env("BCL_COPY", copy);
            Peer::spawn(command)
        })
        .collect();
    for peer in &mut peers {
        peer.order("go");
    }
    for peer in &mut peers {
        assert_eq!(peer.line(), "done", "{}", peer.address);
    }
    for peer in &mut peers {
        peer.order("leave");
        assert_eq!(peer.end(), 0, "{}", peer.address);
    }
}

#[test]
fn ten_thousand_messages_each_way_by_single_copy() {
    exchange("auto");
}

#[test]
fn ten_thousand_messages_each_way_streamed() {
    exchange("stream");
}
