//! What we have, and how much of it.

use bcl_adi::{INJECT_MAX, SHORT_MAX};

use crate::abi::*;

/// What a program may want.
pub const CAPS: u64 = MESSAGES | ONE_SIDED | DIRECTIONS | ACCESSES | SECONDARY;
/// Messages, ...
pub const MESSAGES: u64 = FI_MSG | FI_TAGGED;
/// ... and what needs no receive.
pub const ONE_SIDED: u64 = FI_RMA | FI_ATOMIC;
const SECONDARY: u64 = FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE | DOMAIN_CAPS;

/// What is always there, asked for or not.
pub const DOMAIN_CAPS: u64 = FI_LOCAL_COMM | FI_REMOTE_COMM;

/// What messages do if nobody says which of it.
pub const DIRECTIONS: u64 = FI_SEND | FI_RECV;

/// The same of one-sided operations.
pub const ACCESSES: u64 = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

/// Capabilities of the sending half.
pub const TX_CAPS: u64 = MESSAGES | ONE_SIDED | FI_SEND | FI_READ | FI_WRITE;
/// Of the receiving half.
pub const RX_CAPS: u64 = MESSAGES
    | ONE_SIDED
    | FI_RECV
    | FI_REMOTE_READ
    | FI_REMOTE_WRITE
    | FI_MULTI_RECV
    | FI_DIRECTED_RECV
    | FI_SOURCE;

/// How operations may be asked to complete.
pub const TX_FLAGS: u64 =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
/// The same of receives.
pub const RX_FLAGS: u64 = FI_COMPLETION | FI_MULTI_RECV;

/// Messages come in order, and so do one-sided and atomic operations, as far as they are [short](ORDERED_SIZE).
pub const MSG_ORDER: u64 = FI_ORDER_SAS | RMA_ORDER | ATOMIC_ORDER;
const RMA_ORDER: u64 = FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW;
const ATOMIC_ORDER: u64 =
    FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;

/// Bytes up to which one-sided operations are done in their order.
pub const ORDERED_SIZE: usize = SHORT_MAX;

/// All 64 bits of a tag are the program's, as `FI_TAG_GENERIC` has it.
pub const TAG_FORMAT: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// Of the protocol that endpoints speak with each other: a number of ours.
pub const PROTOCOL: u32 = 1 << 31 | 0x0042_434c;
/// Its version.
pub const PROTOCOL_VERSION: u32 = 1;

/// Bytes that are sent, or written, without the program having to keep them, in one system message at most.
pub const INJECT_SIZE: usize = SHORT_MAX;
/// The same for programs whose operations otherwise complete on delivery, as MPICH's do, or which ask for so many. Within a node these
/// are copied once more than others, which costs 2 us, but between nodes they save such programs 4 us.
pub const LONG_INJECT_SIZE: usize = INJECT_MAX;
/// Places in a peer's memory that one operation is for.
pub const RMA_IOV_LIMIT: usize = 1;
/// Operations under way, as many as a port has room for; and as few as a program gets that has no wish.
pub const TX_SIZE: usize = 4096;
/// Receives posted.
pub const RX_SIZE: usize = 65536;
/// Pieces of memory that make up a message. We could take more, but programs are tried on providers that have four: fi_ubertest divides
/// messages wrongly for six.
pub const IOV_LIMIT: usize = 4;
/// Bytes that a completion brings of its sender's.
pub const CQ_DATA_SIZE: usize = 8;
/// Bytes of a key.
pub const MR_KEY_SIZE: usize = 8;
/// Pieces of memory in a region.
pub const MR_IOV_LIMIT: usize = 1;
/// Regions of a domain.
pub const MR_COUNT: usize = 1 << 20;
/// Objects of each kind in a domain, as many as somebody may plan with; memory is the limit.
pub const OBJECT_COUNT: usize = 4096;
