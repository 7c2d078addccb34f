//! A host with an interface program in front of its port, and an agent that works at once or not at all.

use std::net::SocketAddr;
use std::sync::Arc;

use bcl_mcp_model::Verdict;
use bcl_proto::Told;
use bcl_wire::JobKeys;

use crate::{Host, KEY, World, address, path};

/// Length of its ring.
pub const RING_BYTES: usize = 256 << 10;

/// See the module.
pub struct Front {
    /// The interface program.
    pub port: bcl_mcp_model::Port,
    /// Whether the agent answers.
    pub has_agent: bool,
    /// Whether the process looks at its records.
    pub looks: bool,
    /// Connections that were entered.
    pub entered: Vec<u32>,
}

impl World {
    /// Two hosts, of which the second has an interface program.
    pub fn with_front(seed: u64) -> Self {
        let mut world = Self::with(2, seed, |host, config| {
            config.interface_ring_bytes = host * RING_BYTES;
        });
        let job = Arc::new(JobKeys::derive(&KEY));
        world.hosts[1].front = Some(Front {
            port: bcl_mcp_model::Port::new(address(1).port, job, RING_BYTES),
            has_agent: true,
            looks: true,
            entered: Vec::new(),
        });
        world
    }

    /// The interface program in front of the second host.
    pub fn front(&mut self) -> &mut Front {
        self.hosts[1].front.as_mut().expect("it has one")
    }

    pub(crate) fn receive(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let SocketAddr::V4(source) = path(from).to else {
            unreachable!("all have IPv4");
        };
        let front = self.hosts[to].front.as_mut();
        match front.map_or(Verdict::Pass, |front| front.port.handle(source, bytes)) {
            Verdict::Pass => self.act(to, |endpoint, now, port| {
                endpoint.handle(now, path(from), bytes, port);
            }),
            Verdict::Drop => self.flush(to),
            Verdict::Reply(reply) => {
                let reply = reply.to_vec();
                self.send(to, path(from), reply, false);
                self.flush(to);
            }
        }
    }

    /// The process looks at its records, and the agent does what it was asked for.
    pub(crate) fn manage(&mut self, host: usize) {
        let now = self.now;
        let Host {
            endpoint,
            port,
            front: Some(front),
            ..
        } = &mut self.hosts[host]
        else {
            return;
        };
        while front.looks
            && let Some(record) = front.port.ring.next_record()
        {
            if endpoint.handle_record(now, &record, port) == Told::NoRoom {
                break;
            }
            front.port.ring.release();
        }
        while front.has_agent
            && let Some(entering) = endpoint.next_to_enter(now, port)
        {
            front.port.control.give_back(entering.id, true);
            front.port.enter_connection(entering.into());
            front.entered.push(entering.id);
            let is_entered = endpoint.entered(now, entering.id, port);
            front.port.control.give_back(entering.id, !is_entered);
        }
        while let Some(id) = endpoint.next_to_take_back() {
            front.port.control.give_back(id, true);
            let state = front.port.remove_connection(id);
            endpoint.taken_back(now, id, state.as_ref(), port);
        }
        while let Some(id) = endpoint.next_to_remove() {
            front.port.remove_connection(id);
        }
        front.port.control.refuse_system = endpoint.refuse_system(port);
    }
}
