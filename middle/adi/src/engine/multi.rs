//! Multi-receive buffers: one message behind the other ([ADI-3.4]).

use bcl_raw::slab::{Id, Slab};

use super::in_order::InOrder;
use super::meeting::{Slot, Waiting};

/// A multi-receive buffer.
#[derive(Debug)]
pub struct Multi {
    used_bytes: usize,
    min_free_bytes: usize,
    /// Messages that have met it and are not here yet.
    under_way: usize,
    /// It takes no more.
    pub closed: bool,
}

impl Multi {
    pub fn new(min_free_bytes: usize) -> Self {
        Self {
            used_bytes: 0,
            min_free_bytes,
            under_way: 0,
            closed: false,
        }
    }
}

/// What a posted receive has for a message, and whether it is there for others after it. If it is such a buffer, the message
/// has its turn among those of its sender.
#[inline]
pub fn cut(
    multis: &mut Slab<Multi>,
    waiting: &Waiting,
    len_bytes: u64,
    in_order: &mut InOrder,
) -> (Slot, bool) {
    let Some(multi) = waiting.multi.and_then(|id| multis.get_mut(id)) else {
        let slot = Slot {
            memory: waiting.memory.clone(),
            context: waiting.context,
            mark: waiting.mark,
            multi: None,
        };
        return (slot, false);
    };
    let offset_bytes = multi.used_bytes;
    let free_bytes = waiting.memory.len_bytes() - offset_bytes;
    let taken_bytes = usize::try_from(len_bytes).map_or(free_bytes, |len| len.min(free_bytes));
    multi.used_bytes += taken_bytes;
    multi.under_way += 1;
    multi.closed = free_bytes - taken_bytes < multi.min_free_bytes.max(1);
    let slot = Slot {
        memory: waiting.memory.part(offset_bytes, taken_bytes),
        context: waiting.context,
        mark: waiting.mark,
        multi: waiting.multi.map(|id| (id, in_order.met())),
    };
    (slot, !multi.closed)
}

/// Of messages that were under way to a buffer, so many are done with. Whether that was its end.
pub fn is_over(multis: &mut Slab<Multi>, id: Id, done: usize) -> bool {
    let Some(multi) = multis.get_mut(id) else {
        return true;
    };
    multi.under_way -= done;
    let is_over = multi.closed && multi.under_way == 0;
    if is_over {
        multis.remove(id);
    }
    is_over
}
