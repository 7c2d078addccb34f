//! What the interface program counts for a port ([MCP-7.1]): words in this order, at the beginning of a page.

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What has become of a port's packets, by cause: words that only go up.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Counters {
            /// Names, in their order.
            pub const NAMES: &[&str] = &[$(stringify!($field),)*];

            /// Adds another's.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// Names and values.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Packets that were not left alone.
    packets,
    /// Not as long as the header says, or without a meaning.
    malformed,
    /// The check is wrong.
    check,
    /// Another CPU was dealing with the connection for too long.
    busy,
    /// There was no room for what would have to be done; or it came before others.
    no_room,
    /// Taken before.
    duplicate,
    /// Beyond the window of the receiver.
    beyond_window,
    /// System messages that were refused.
    refused,
    /// Taken, and nothing else.
    discarded,
    /// Put into the ring.
    records,
    /// Packets whose payload or effect went to a window's memory.
    placed,
    /// Reads of windows that were answered with data.
    read,
    /// Answers to one-sided operations.
    answers,
    /// Answers to probes.
    probe_answers,
    /// Refusals that were told without acknowledging.
    naks,
    /// Acknowledgements.
    acks,
    /// Times that the sleeping program was woken.
    wakes,
}

/// The page that begins with them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CountersPage {
    /// How they stand.
    pub counters: Counters,
    rest: [u64; (crate::PAGE_BYTES - size_of::<Counters>()) / 8],
}
