//! What can become of a packet, declared once: counters, traces and drops all speak of these.

use std::fmt;

macro_rules! fates {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Something that happened to a packet.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fate {
            $($(#[$doc])* $name,)*
        }

        impl Fate {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Fate] = &[$(Fate::$name,)*];

            /// In words.
            pub fn text(self) -> &'static str {
                match self {
                    $(Fate::$name => $text,)*
                }
            }
        }
    };
}

fates! {
    /// A host sent it.
    Sent = "sent",
    /// A stranger put it on a link.
    Injected = "injected",
    /// A link made a second copy.
    Duplicated = "duplicated",
    /// A link let later packets overtake it.
    Reordered = "reordered",
    /// A link flipped bits.
    Corrupted = "corrupted",
    /// A link cut its end off.
    Truncated = "truncated",
    /// A process took it from its socket.
    Delivered = "delivered",
    /// Gone: lost on a link by itself.
    Lost = "lost",
    /// Gone: lost on a link together with its neighbours.
    LostInBurst = "lost in a burst",
    /// Gone: the queue before a link was full.
    QueueFull = "queue full",
    /// Gone: longer than the link takes.
    TooLong = "too long",
    /// Gone: the link is down.
    LinkDown = "link down",
    /// Gone: a partition lies between the hosts.
    Partitioned = "partitioned",
    /// Gone: nobody has that address.
    NoSuchAddress = "no such address",
    /// Gone: the receiving socket was full.
    InboxFull = "socket full",
    /// Gone: no process is there to take it.
    NoProcess = "no process",
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

impl Fate {
    /// Whether this ends a packet without delivery.
    pub fn is_drop(self) -> bool {
        self > Fate::Delivered
    }
}

/// How often each fate struck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters([u64; Fate::ALL.len()]);

impl Counters {
    /// How often `fate` struck.
    pub fn of(&self, fate: Fate) -> u64 {
        self.0[fate as usize]
    }

    /// How many packets, copies included, have ended without delivery.
    pub fn dropped(&self) -> u64 {
        Fate::ALL
            .iter()
            .filter(|fate| fate.is_drop())
            .map(|fate| self.of(*fate))
            .sum()
    }

    pub(super) fn count(&mut self, fate: Fate) {
        self.0[fate as usize] += 1;
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let struck = Fate::ALL.iter().filter(|fate| self.of(**fate) > 0);
        for (index, fate) in struck.enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{} {}", self.of(*fate), fate.text())?;
        }
        Ok(())
    }
}
