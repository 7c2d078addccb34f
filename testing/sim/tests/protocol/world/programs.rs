//! What programs do.

use bcl_proto::{Action, Endpoint, NormalSend, Rma, Time};
use bcl_sim::SimPort;
use bcl_sim::port::{Heard, Memory, address, immediate_of};
use bcl_types::OpId;

use super::World;

impl World {
    /// A host does something, and what it has to send leaves.
    pub fn act<R>(
        &mut self,
        host: usize,
        act: impl FnOnce(&mut Endpoint, Time, &mut Memory) -> R,
    ) -> R {
        let port = &mut self.hosts[host];
        let result = act(&mut port.endpoint, self.now, &mut port.memory);
        self.flush(host);
        result
    }

    /// A host sends another a system message; whether that is complete.
    pub fn send_system(&mut self, from: usize, to: usize, data: &[u8]) -> bool {
        self.act(from, |endpoint, now, memory| {
            let immediate = immediate_of(data);
            endpoint.send_system(now, address(to), data, immediate, memory, Memory::new_op)
        })
    }

    /// A host sends another a message on a normal channel.
    pub fn send_normal(&mut self, from: usize, to: usize, channel: u16, data: Vec<u8>) -> OpId {
        self.act(from, |endpoint, now, memory| {
            let (len_bytes, immediate) = (data.len() as u64, immediate_of(&data));
            let op = memory.lend(data);
            let send = NormalSend {
                op,
                channel,
                len_bytes,
                immediate,
            };
            endpoint.send_normal(now, address(to), send, memory);
            op
        })
    }

    /// A host closes its port.
    pub fn close(&mut self, host: usize) {
        self.act(host, |endpoint, now, memory| endpoint.close(now, memory));
    }

    /// A host gives a buffer to the message that waits on a channel, or to the next one.
    pub fn post(&mut self, host: usize, channel: u16, capacity_bytes: usize) -> OpId {
        let port = &mut self.hosts[host];
        let op = match port.memory.first_waiting(channel) {
            Some(op) => {
                port.give_buffer(self.now, op, capacity_bytes);
                op
            }
            None => port.memory.post(channel, capacity_bytes),
        };
        self.flush(host);
        op
    }

    /// The program of a host, which was away, looks.
    pub fn look(&mut self, host: usize) {
        self.hosts[host].look(self.now);
        self.flush(host);
    }

    /// Takes all that a host was told, and releases the system messages: their contents, which all came with the immediate
    /// data that belong to them.
    pub fn take_system(&mut self, host: usize) -> Vec<Vec<u8>> {
        let taken = self.take_messages(host).into_iter();
        taken
            .map(|(bytes, immediate)| {
                assert_eq!(immediate, immediate_of(&bytes), "immediate data");
                bytes
            })
            .collect()
    }

    /// The same, with the immediate data.
    pub fn take_messages(&mut self, host: usize) -> Vec<(Vec<u8>, u64)> {
        let SimPort {
            endpoint, memory, ..
        } = &mut self.hosts[host];
        let mut taken = Vec::new();
        for heard in memory.take() {
            if let Heard::System {
                handle, immediate, ..
            } = heard
            {
                taken.push((endpoint.data(&handle).to_vec(), immediate));
                assert!(endpoint.release(&handle));
                assert!(!endpoint.release(&handle));
            }
        }
        taken
    }

    /// The first host acts on a window of the second, with memory that it lends.
    pub fn rma(&mut self, bytes: Vec<u8>, window: u16, offset: u64, action: Action) -> OpId {
        self.rma_by(0, bytes, window, offset, action)
    }

    /// One of the first two hosts acts on a window of the other.
    pub fn rma_by(
        &mut self,
        host: usize,
        bytes: Vec<u8>,
        window: u16,
        offset: u64,
        action: Action,
    ) -> OpId {
        self.act(host, |endpoint, now, memory| {
            let op = memory.lend(bytes);
            let rma = Rma {
                op,
                window,
                offset,
                action,
            };
            endpoint.rma(now, address(1 - host), rma, memory);
            op
        })
    }
}
