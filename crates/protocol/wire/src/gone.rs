//! How a port has ended, as a GONE tells it ([WIRE-2.14]).

use bcl_types::Cause;

use crate::header::{HEADER_LEN, Header};
use crate::keys::CheckKey;
use crate::kind::{Death, Kind};
use crate::seal::seal_empty;

/// One end of a connection, as packets name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Number that it gave the connection.
    pub connection: u32,
    /// Number of the port.
    pub port: u16,
}

/// The GONE that tells `to` how the port of `from` has ended, sealed with the key of what that has sent.
pub fn gone_packet(cause: Cause, from: End, to: End, key: &CheckKey) -> [u8; HEADER_LEN] {
    let header = Header {
        to_connection: to.connection,
        from_connection: from.connection,
        from_port: from.port,
        to_port: to.port,
        ..Header::gone(cause)
    };
    let mut bytes = header.to_bytes();
    seal_empty(&mut bytes, key);
    bytes
}

impl Header {
    /// A GONE with this cause, all else 0.
    fn gone(cause: Cause) -> Self {
        let (death, detail) = match cause {
            Cause::Closed => (Death::Closed, 0),
            Cause::Exited(status) => (Death::Exited, status),
            Cause::Killed(signal) => (Death::Killed, signal),
            _ => (Death::Unknown, 0),
        };
        Self {
            offset: u64::from(detail as u8),
            length: u64::from(death.number()),
            ..Self::new(Kind::Gone)
        }
    }

    /// The cause that a GONE tells.
    pub fn cause(&self) -> Cause {
        let detail = self.offset as u8 as i32;
        match u8::try_from(self.length).ok().and_then(Death::from_number) {
            Some(Death::Closed) => Cause::Closed,
            Some(Death::Exited) => Cause::Exited(detail),
            Some(Death::Killed) => Cause::Killed(detail),
            Some(Death::Unknown) | None => Cause::Vanished,
        }
    }
}

#[test]
fn causes_travel() {
    for cause in [
        Cause::Closed,
        Cause::Exited(255),
        Cause::Killed(9),
        Cause::Vanished,
    ] {
        assert_eq!(Header::gone(cause).cause(), cause);
    }
}
