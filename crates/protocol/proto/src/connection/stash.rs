//! Packets that came before others that they have to wait for ([WIRE-5.5]).

use bcl_wire::Header;
use bcl_wire::serial::before;

use crate::buffers::Buffers;
use crate::slab::Name;

/// Of one connection, the latest first.
#[derive(Debug, Default)]
pub struct Stash {
    packets: Vec<(Header, Name)>,
    bytes: usize,
}

impl Stash {
    /// Keeps a packet, if there is room: no connection gets more than what is left for the others.
    pub fn keep(
        &mut self,
        buffers: &mut Buffers,
        owner: u32,
        header: &Header,
        payload: &[u8],
    ) -> bool {
        let cost = Buffers::cost(payload.len());
        if self.bytes + cost > buffers.room_bytes() {
            return false;
        }
        self.keep_all_the_same(buffers, owner, header, payload);
        true
    }

    /// Keeps a packet of at most the longest payload, whether there is room or not: it was acknowledged.
    pub fn keep_all_the_same(
        &mut self,
        buffers: &mut Buffers,
        owner: u32,
        header: &Header,
        payload: &[u8],
    ) {
        let name = buffers.take_all_the_same(payload.len(), owner);
        let place = buffers
            .get_mut(name)
            .and_then(|bytes| bytes.get_mut(..payload.len()));
        if let Some(place) = place {
            place.copy_from_slice(payload);
        }
        self.bytes += Buffers::cost(payload.len());
        let index = self
            .packets
            .partition_point(|(other, _)| before(header.sequence, other.sequence));
        self.packets.insert(index, (*header, name));
    }

    /// The oldest.
    pub fn first(&self) -> Option<(Header, Name)> {
        self.packets.last().copied()
    }

    /// It lies elsewhere now.
    pub fn rename_first(&mut self, name: Name) {
        if let Some(first) = self.packets.last_mut() {
            first.1 = name;
        }
    }

    /// It has been dealt with.
    pub fn drop_first(&mut self) {
        if let Some((header, _)) = self.packets.pop() {
            self.bytes -= Buffers::cost(usize::from(header.payload_len_bytes));
        }
    }

    pub fn clear(&mut self, buffers: &mut Buffers) {
        for (_, name) in self.packets.drain(..) {
            buffers.give_back(name);
        }
        self.bytes = 0;
    }

    pub fn memory_bytes(&self) -> usize {
        self.packets.capacity() * size_of::<(Header, Name)>()
    }

    pub fn shrink(&mut self) {
        if self.packets.is_empty() {
            self.packets = Vec::new();
        }
    }
}
