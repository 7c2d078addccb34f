//! Many ports of one host, and one port of another.

use crate::lab::Lab;

#[test]
fn two_hundred_peers_of_one_port() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let mut one = lab.start(0, &["gather", "200", "10"]);
    let to = one.address.to_string();
    let mut flock = lab.start(1, &["flock", "200", &to, "10"]);
    for peer in [&mut one, &mut flock] {
        assert_eq!(peer.line(), "done", "{}", peer.address);
    }
    for peer in [&mut one, &mut flock] {
        peer.order("leave");
        assert_eq!(peer.end(), 0);
    }
}
