//! Hosts with more programs than processors: each of ours runs for a moment now and then, and packets wait for it meanwhile.

use bcl_proto::Span;
use bcl_sim::party::Party;
use bcl_sim::port::{Heard, first_address};

use crate::world::World;

/// A time slice of each of two others.
const AWAY: Span = Span::from_ms(6);
/// Then it runs for so many moments.
const MOMENTS: u64 = 10;
const MOMENT: Span = Span::from_us(20);
const LEN_BYTES: usize = 2 << 20;
const MESSAGES: usize = 4;

/// Two hosts that look in turn, each after `AWAY`; what one sends is with the other at once, and waits for it.
struct Crowded {
    world: World,
    inboxes: [Vec<Vec<u8>>; 2],
    looks: usize,
}

impl Crowded {
    /// As soon as they are connected.
    fn new() -> Self {
        let mut world = World::new(2, 1);
        for _ in 0..10 {
            world.send_system(0, 1, b"known");
            world.send_system(1, 0, b"known");
            world.run(Span::from_ms(1));
        }
        world.take_system(0);
        world.take_system(1);
        Self {
            world,
            inboxes: [Vec::new(), Vec::new()],
            looks: 0,
        }
    }

    fn look(&mut self, host: usize) {
        self.looks += 1;
        self.world.now += AWAY.part(2);
        let now_ns = self.world.now.0;
        let port = &mut self.world.hosts[host];
        port.endpoint.was_away(AWAY);
        for datagram in self.inboxes[host].drain(..) {
            port.receive(now_ns, first_address(1 - host), &datagram);
        }
        for moment in 0..MOMENTS {
            let now_ns = now_ns + moment * MOMENT.0;
            if port.next_timeout_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                port.on_timeout(now_ns);
            }
            while let Some((_, datagram)) = port.next_datagram(now_ns) {
                self.inboxes[1 - host].push(datagram);
            }
        }
        self.world.now += MOMENT.times(MOMENTS);
    }

    fn has_all(&self, messages: usize) -> bool {
        let is_message = |news: &Heard| matches!(news, Heard::Received { .. });
        self.world.hosts[1].memory.count(is_message) == messages
    }
}

/// Such delays are not the network's. Congestion control that took them for it once sent one packet per look.
#[test]
fn what_waits_for_a_program_is_not_under_way() {
    let mut crowded = Crowded::new();
    for message in 1..=MESSAGES {
        crowded.world.post(1, 1, LEN_BYTES);
        // Its RTS leaves on the world's network, where nobody is away.
        crowded.world.send_normal(0, 1, 1, vec![5; LEN_BYTES]);
        while !crowded.has_all(message) {
            crowded.look(0);
            crowded.look(1);
            assert!(crowded.looks < 24 * MESSAGES, "{message} messages");
        }
    }
}
