//! A port of one tier with its program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_tier::{
    Action, MessageId, NormalSend, Pieces, RmaOp, Shared, Source, SystemHandle, Target, Tier,
    WindowMemory,
};
use bcl_types::{Access, Address, OpError, OpId};

use super::{Program, Told};

/// What no test waits for longer: it would hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ports of one tier, which can reach each other.
pub trait Ports {
    /// The tier.
    type Tier: Tier;

    /// Opens one.
    fn open() -> End<Self::Tier>;
}

/// A port of one tier with its program.
pub struct End<T: Tier> {
    pub tier: T,
    pub program: Program,
    pub shared: Arc<Shared>,
    /// It is not to be closed when it is dropped.
    pub is_closed: bool,
    /// Lent to operations, in the order of their beginning.
    memory: Vec<Box<[u8]>>,
}

impl<T: Tier> End<T> {
    /// With a program that has heard of nothing.
    pub fn new(tier: T, shared: Arc<Shared>) -> Self {
        Self {
            tier,
            program: Program::default(),
            shared,
            is_closed: false,
            memory: Vec::new(),
        }
    }

    /// Where it is.
    pub fn address(&self) -> Address {
        self.shared.address
    }

    fn lend(&mut self, len_bytes: usize, fill: u8) -> Pieces {
        self.memory.push(vec![fill; len_bytes].into_boxed_slice());
        let memory = self.memory.last_mut().map(|memory| memory.as_mut_ptr());
        Pieces::one(memory.unwrap_or(std::ptr::null_mut()), len_bytes)
    }

    /// What was lent last, as it is now.
    pub fn lent_last(&self) -> &[u8] {
        self.memory.last().map_or(&[], |memory| memory)
    }

    /// Sends a system message of this number, which its bytes are too. The operation, if it is not complete.
    pub fn send_system(&mut self, to: Address, len_bytes: usize, number: u64) -> Option<OpId> {
        let mut op = None;
        let name = |program: &mut Program| *op.insert(program.begin());
        let data = vec![number as u8; len_bytes];
        self.tier
            .send_system(to, &data, number, &mut self.program, name);
        op
    }

    /// Sends so many ones on channel 1 with this number.
    pub fn send(&mut self, to: Address, len_bytes: usize, number: u64) -> OpId {
        let op = self.program.begin();
        let send = NormalSend {
            op,
            channel: 1,
            immediate: number,
            source: Source {
                memory: self.lend(len_bytes, 1),
                region: None,
            },
        };
        self.tier.send_normal(to, send, &mut self.program);
        op
    }

    /// Whether a send could be taken back.
    pub fn take_back(&mut self, to: Address, op: OpId) -> bool {
        let wanted = |_: &Program, other| other == op;
        let is_back = self.tier.cancel_send(to, &mut self.program, wanted);
        let canceled = Told::Sent(op, Err(OpError::Canceled));
        assert_eq!(is_back, self.program.heard(canceled));
        is_back
    }

    /// Has a buffer of zeros ready for the next message that comes.
    pub fn post(&mut self, len_bytes: usize) -> OpId {
        let target = self.target(len_bytes);
        self.program.posts.push_back(target);
        target.op
    }

    fn target(&mut self, len_bytes: usize) -> Target {
        Target {
            memory: self.lend(len_bytes, 0),
            op: self.program.begin(),
        }
    }

    /// Gives the oldest message that waits a buffer of zeros.
    pub fn accept(&mut self, len_bytes: usize) -> OpId {
        let target = self.target(len_bytes);
        let message = self.program.waiting.pop_front().expect("a message waits");
        let is_taken = self.tier.accept(message, target, &mut self.program);
        assert!(is_taken, "a message that waits is there");
        target.op
    }

    /// Has a buffer for a message that has gone: it is not taken, and its operation never was.
    pub fn accept_in_vain(&mut self, message: MessageId) {
        let target = self.target(1000);
        let is_taken = self.tier.accept(message, target, &mut self.program);
        assert!(!is_taken, "the message has gone");
        self.program.take_back(target.op);
    }

    /// Binds so many zeros to window 1.
    pub fn bind(&mut self, len_bytes: usize, access: Access) {
        let memory = self.lend(len_bytes, 0);
        let start = memory.within_one(0, len_bytes).expect("it is in one piece");
        // SAFETY: the memory is kept until the port is closed.
        let memory = unsafe { WindowMemory::new(start, len_bytes) };
        let mut windows = self.shared.windows();
        let is_bound = windows.bind(&self.shared.page, 1, memory, access);
        assert!(is_bound);
    }

    /// Writes so many ones to the peer's window 1.
    pub fn put(&mut self, to: Address, len_bytes: usize) -> OpId {
        let memory = self.lend(len_bytes, 1);
        let from = memory.within_one(0, len_bytes).expect("it is in one piece");
        self.rma(to, Action::Put { from, len_bytes })
    }

    /// Reads so much of the peer's window 1.
    pub fn get(&mut self, from: Address, len_bytes: usize) -> OpId {
        let memory = self.lend(len_bytes, 0);
        let to = memory.within_one(0, len_bytes).expect("it is in one piece");
        self.rma(from, Action::Get { to, len_bytes })
    }

    fn rma(&mut self, peer: Address, action: Action) -> OpId {
        let op = RmaOp {
            op: self.program.begin(),
            window: 1,
            offset: 0,
            action,
        };
        self.tier.rma(peer, op, &mut self.program);
        op.op
    }

    /// Looks at what has come, and gives back what it holds.
    pub fn poll(&mut self) {
        self.tier.poll(&mut self.program);
        while let Some(message) = self.program.held.pop() {
            self.release(&message);
        }
    }

    /// Gives a system message back, which is as it was sent.
    pub fn release(&mut self, message: &SystemHandle) {
        // SAFETY: it has not been released.
        let data = unsafe { std::slice::from_raw_parts(message.start, message.len_bytes as usize) };
        assert!(data.iter().all(|byte| *byte == message.immediate as u8));
        assert!(self.tier.release(message), "held");
        assert!(!self.tier.release(message), "released before");
    }

    /// Polls until it was told.
    pub fn poll_until(&mut self, is_so: impl Fn(&Program) -> bool) {
        wait_until(|| {
            self.poll();
            is_so(&self.program)
        });
    }
}

impl<T: Tier> Drop for End<T> {
    fn drop(&mut self) {
        if !self.is_closed {
            self.tier.close(Duration::ZERO);
        }
    }
}

/// Two ports that have met; their programs have forgotten how.
pub fn pair<P: Ports>() -> (End<P::Tier>, End<P::Tier>) {
    let (mut left, mut right) = (P::open(), P::open());
    left.send_system(right.address(), 10, 0);
    wait_until(|| {
        left.poll();
        right.poll();
        let is_sent = left.program.under_way() == 0 && left.program.heard(Told::Up);
        is_sent && right.program.heard(Told::System(0))
    });
    for end in [&mut left, &mut right] {
        end.program.told.clear();
    }
    (left, right)
}

/// Tries again until it is so.
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::yield_now();
    }
}
