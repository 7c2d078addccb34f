//! Why there is no connection: HSK-3 of `spec/handshake.md`.

use std::fmt;

use super::{VERSION, wire};

/// Why one side refuses the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The two speak different versions of the handshake. Detail: the version that was refused.
    Version,
    /// The two have different job keys.
    Key,
    /// The job does not allow this user. Detail: the uid.
    Uid,
    /// The port that was asked for is not the one that was reached. Detail: its number.
    NoPort,
    /// Both have connected to each other at once, and this is the connection that is given up.
    Crossed,
    /// No memory or no descriptors for another connection. Detail: an errno.
    Limit,
    /// The port is being closed.
    Closing,
    /// The other side does not keep to the protocol.
    Protocol,
}

/// Which side has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// We have.
    Us,
    /// The peer has, by a REFUSE.
    Peer,
}

/// The end of a handshake that has not led to a connection. As an error it is a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// More about the reason; see there.
    pub detail: u32,
    /// Who has refused.
    pub by: Side,
    /// The version of the handshake that the peer speaks, as far as known.
    pub version: u16,
}

/// A handshake that has failed, and what the peer has to be told about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{refusal}")]
pub struct Failure {
    /// Why.
    pub refusal: Refusal,
    /// A REFUSE to send before closing; none if the peer itself has refused.
    pub reply: Option<Vec<u8>>,
}

/// A REFUSE for reasons that the state machines cannot know of ([`Reason::Uid`],
/// [`Reason::Crossed`], [`Reason::Limit`], [`Reason::Closing`]).
pub fn refuse(reason: Reason, detail: u32) -> Vec<u8> {
    wire::encode_refuse(reason, detail)
}

impl Reason {
    /// All reasons, each at the place of its code less one.
    const ALL: [Reason; 8] = [
        Reason::Version,
        Reason::Key,
        Reason::Uid,
        Reason::NoPort,
        Reason::Crossed,
        Reason::Limit,
        Reason::Closing,
        Reason::Protocol,
    ];

    pub(super) fn code(self) -> u8 {
        self as u8 + 1
    }

    pub(super) fn from_code(code: u8) -> Option<Reason> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

impl Refusal {
    pub(super) fn ours(reason: Reason, detail: u32) -> Refusal {
        Refusal {
            reason,
            detail,
            by: Side::Us,
            version: VERSION,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let reply = match refusal.by {
            Side::Us => Some(refuse(refusal.reason, refusal.detail)),
            Side::Peer => None,
        };
        Failure { refusal, reply }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail;
        let by = match self.by {
            Side::Us => "refused the peer",
            Side::Peer => "refused by the peer",
        };
        match self.reason {
            Reason::Version => write!(
                f,
                "{by}: it speaks version {} of the handshake, this library version {VERSION}: \
                 install the same release of BCL on both sides",
                self.version
            ),
            Reason::Key => write!(
                f,
                "{by}: the job keys differ: start both with the same BCL_JOB_KEY or BCL_JOB_KEY_FILE"
            ),
            Reason::Uid => write!(
                f,
                "{by}: the job does not allow user {detail}: add the uid to BCL_ALLOW_UIDS; if it stands for \
                 all users whom a container does not map, give the job a key (BCL_JOB_KEY_FILE)"
            ),
            Reason::NoPort => write!(
                f,
                "{by}: it reached port {detail} instead of the one it asked for"
            ),
            Reason::Crossed => write!(
                f,
                "{by}: both have connected at once, the other connection stays"
            ),
            Reason::Limit => write!(
                f,
                "{by}: no memory or no descriptors for another connection ({})",
                std::io::Error::from_raw_os_error(detail as i32)
            ),
            Reason::Closing => write!(f, "{by}: the port is being closed"),
            Reason::Protocol => write!(f, "{by}: a message breaks the rules of the handshake"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::wire::decode;

    #[test]
    fn reasons_and_codes_match() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(reason.code()), index + 1);
            assert_eq!(Reason::from_code(reason.code()), Some(reason));
        }
        assert_eq!(Reason::from_code(0), None);
        assert_eq!(Reason::from_code(9), None);
    }

    #[test]
    fn a_refusal_arrives_as_it_was_sent() {
        let arrived = decode(&refuse(Reason::Uid, 1001)).unwrap_err();
        let expected = Refusal {
            by: Side::Peer,
            ..Refusal::ours(Reason::Uid, 1001)
        };
        assert_eq!(arrived, expected);
        assert!(arrived.to_string().contains("1001"));
    }

    #[test]
    fn a_refusal_of_another_version_names_both() {
        let mut bytes = refuse(Reason::Version, VERSION.into());
        bytes[4..6].copy_from_slice(&9u16.to_le_bytes());
        let text = decode(&bytes).unwrap_err().to_string();
        assert!(
            text.contains("version 9") && text.contains("version 1"),
            "{text}"
        );
    }
}
