//! What a packet says, and the reasons it gives. Numbers are part of the format ([WIRE-2]).

/// Declares an enum whose numbers travel.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident: $int:ty { $($(#[$item_doc:meta])* $item:ident = $number:literal $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($int)]
        pub enum $name { $($(#[$item_doc])* $item = $number),+ }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$item),+];

            /// From the number that travels.
            pub fn from_number(number: $int) -> Option<Self> {
                match number { $($number => Some(Self::$item),)+ _ => None }
            }

            /// The number that travels.
            pub fn number(self) -> $int {
                self as $int
            }

            /// What people and tools call it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$item => $text),+ }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

numbered! {
    /// The type of a packet.
    Kind: u8 {
        /// Wants a connection; the answer is a welcome or a refusal.
        Hello = 1 "HELLO",
        /// Knows the key and shows who asks how to prove that the hello is no replay.
        Welcome = 2 "WELCOME",
        /// The proof: the connection is there.
        Confirm = 3 "CONFIRM",
        /// A message, or a fragment of one, with its payload. Sequenced.
        Data = 4 "DATA",
        /// A message on a normal channel whose payload waits at the sender. Sequenced.
        Rts = 5 "RTS",
        /// The receiver has a buffer for such a message. Sequenced.
        Cts = 6 "CTS",
        /// A fragment of such a message. Sequenced.
        Body = 7 "BODY",
        /// The receiver is done with a message on a normal channel. Sequenced.
        Fin = 8 "FIN",
        /// Writes to a window. Sequenced.
        Put = 9 "PUT",
        /// Reads from a window. Sequenced.
        Get = 10 "GET",
        /// Changes a word of a window. Sequenced.
        Atomic = 11 "ATOMIC",
        /// How a one-sided operation went.
        Answer = 12 "ANSWER",
        /// What has arrived.
        Ack = 13 "ACK",
        /// A message was not taken for now.
        Nak = 14 "NAK",
        /// A packet, and what it belongs to, is refused for good.
        Refuse = 15 "REFUSE",
        /// Are you there, and do packets of this size reach you?
        Probe = 16 "PROBE",
        /// Yes.
        ProbeAnswer = 17 "PROBE_ANSWER",
        /// The port closes; nothing sequenced follows. Sequenced.
        Close = 18 "CLOSE",
        /// A piece of a packet that is longer than the path takes by now.
        Piece = 19 "PIECE",
        /// The port has ended, says its node.
        Gone = 20 "GONE",
    }
}

impl Kind {
    /// Whether it takes a sequence number and is sent again until it is acknowledged.
    #[inline]
    pub fn is_sequenced(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Data | Rts | Cts | Body | Fin | Put | Get | Atomic | Close
        )
    }

    /// Whether it belongs to the set-up of a connection, and is checked with the job's key.
    #[inline]
    pub fn is_setup(self) -> bool {
        matches!(self, Self::Hello | Self::Welcome | Self::Confirm)
    }
}

numbered! {
    /// Why a message was not taken for now.
    NakReason: u8 {
        /// No room for messages on the system channel.
        SystemBusy = 1 "system busy",
        /// No room for messages on normal channels.
        NormalBusy = 2 "normal busy",
    }
}

numbered! {
    /// Why something is refused for good.
    RefuseReason: u8 {
        /// The version is not spoken here; the detail names both.
        Version = 1 "version",
        /// The job's key is another.
        Key = 2 "key",
        /// Nobody has opened the port.
        NoPort = 3 "no port",
        /// There is no such connection, or not any more.
        Stale = 4 "stale",
        /// The port does not allow this peer.
        NotAllowed = 5 "not allowed",
        /// The port takes no more connections.
        Full = 6 "full",
    }
}

numbered! {
    /// Who answers for a port.
    #[derive(Default)]
    Answerer: u16 {
        /// Its program.
        #[default]
        Program = 0 "program",
        /// An interface program, for connections that it has.
        Interface = 1 "interface",
        /// Likewise, and datagrams that are sent together may come to it as one, which it cannot read.
        SingleInterface = 2 "interface, one datagram at a time",
    }
}

numbered! {
    /// How a message on a normal channel has ended at its receiver.
    FinStatus: u8 {
        /// It is in the receiver's buffer.
        Ok = 0 "ok",
        /// It is longer than the buffer; the detail is the buffer's length in bytes.
        Truncated = 1 "truncated",
        /// The receiver has taken its buffer back.
        Canceled = 2 "canceled",
        /// The receiver's memory could not be written.
        Fault = 3 "fault",
        /// The receiver has no memory.
        NoMemory = 4 "no memory",
    }
}

numbered! {
    /// How a one-sided operation has ended at the owner of the window.
    RmaStatus: u8 {
        /// Done.
        Ok = 0 "ok",
        /// The owner does not permit this kind of access.
        Denied = 1 "denied",
        /// Outside the window, or not aligned.
        Range = 2 "range",
        /// Nothing is bound there.
        NoWindow = 3 "no window",
    }
}

numbered! {
    /// How a port has ended that did not say so itself.
    Death: u8 {
        /// It was closed.
        Closed = 1 "closed",
        /// Its process exited; the detail is the status.
        Exited = 2 "exited",
        /// Its process was killed; the detail is the signal.
        Killed = 3 "killed",
        /// Nobody knows.
        Unknown = 4 "unknown",
    }
}

/// Bits that go with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// The first fragment.
    pub const FIRST: Self = Self(1);
    /// The last fragment.
    pub const LAST: Self = Self(2);
    /// May be lost: takes no sequence number.
    pub const UNRELIABLE: Self = Self(4);
    /// The owner of the window is told.
    pub const NOTIFY: Self = Self(8);
    /// Was sent before.
    pub const RETRANSMIT: Self = Self(16);
    /// To be acknowledged at once.
    pub const ACK_NOW: Self = Self(32);
    /// The payload is only there to be overwritten by the answer.
    pub const PADDED: Self = Self(64);
    /// The offset holds the sender's immediate data; the payload is the message's beginning.
    pub const IMMEDIATE: Self = Self(128);

    /// The sender's program takes by its socket what comes over this connection.
    pub const DIRECT: Self = Self(256);

    const ALL: u16 = 511;

    const NAMES: [(Self, &'static str); 9] = [
        (Self::FIRST, "FIRST"),
        (Self::LAST, "LAST"),
        (Self::UNRELIABLE, "UNRELIABLE"),
        (Self::NOTIFY, "NOTIFY"),
        (Self::RETRANSMIT, "RETRANSMIT"),
        (Self::ACK_NOW, "ACK_NOW"),
        (Self::PADDED, "PADDED"),
        (Self::IMMEDIATE, "IMMEDIATE"),
        (Self::DIRECT, "DIRECT"),
    ];

    /// What people and tools call those that are set, in the order of their bits.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.contains(*flag))
            .map(|(_, name)| name)
    }

    /// Those that are in both.
    pub(crate) const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// These and those.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is set.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The number that travels.
    pub fn number(self) -> u16 {
        self.0
    }

    /// From the number that travels; `None` if a bit has no meaning.
    pub fn from_number(number: u16) -> Option<Self> {
        (number & !Self::ALL == 0).then_some(Self(number))
    }
}

impl core::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl core::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
