//! What an endpoint is called: bytes that programs hand to each other and put into address vectors.
//!
//! ```text
//!  0  "BCLfi" 0 0 and the version of this layout, 2
//!  8  node and port, as bcl_types::Address has them
//! 16  the secret of the port, or zeros if it has none ([`keys`](crate::keys))
//! 32  a check of all before, so that one that was cut short or overwritten is noticed
//! ```
//!
//! Nobody reaches a port whose name was not told to him. So what is shown to people has no secrets.

use std::{fmt, io};

use bcl_types::{Address, scrambled};

/// The format of addresses, in `fi_info`: one of ours, which no other provider has. The uppermost bit says that a provider
/// has made the number up.
pub const FI_ADDR_BCL: u32 = 1 << 31 | 0x0042_434c;

const MAGIC: [u8; 8] = *b"BCLfi\0\0\x02";

/// A name that was checked. Its port may be 0: then it is one to which nothing can be sent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Where it is.
    pub address: Address,
    /// What those know who were told of it.
    pub secret: Option<Secret>,
}

/// 16 random bytes from which the key of a port follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 16]);

/// Why some bytes are no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAName {
    /// Somebody else's, or of another version of ours.
    Foreign,
    /// Cut short, or overwritten.
    Damaged,
}

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        bcl_os::random(&mut bytes)?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Name {
    /// Bytes that each has: MPI libraries give up to 64 of them a place.
    pub const LEN: usize = 40;
    /// Where the check is.
    const CHECK: usize = 32;

    /// One of a port without a secret.
    pub fn open(address: Address) -> Self {
        Self {
            address,
            secret: None,
        }
    }

    /// As bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.address.to_bytes());
        if let Some(Secret(secret)) = self.secret {
            bytes[16..32].copy_from_slice(&secret);
        }
        let check = check_of(&bytes);
        bytes[Self::CHECK..].copy_from_slice(&check);
        bytes
    }

    /// Reverse of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If these bytes are not such a name.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotAName> {
        if bytes.get(..8) != Some(&MAGIC) {
            return Err(NotAName::Foreign);
        }
        let bytes: &[u8; Self::LEN] = bytes.try_into().map_err(|_| NotAName::Damaged)?;
        let mut address = [0; Address::LEN_BYTES];
        address.copy_from_slice(&bytes[8..16]);
        let address = Address::from_bytes(address).ok_or(NotAName::Damaged)?;
        let mut secret = [0; 16];
        secret.copy_from_slice(&bytes[16..32]);
        match bytes[Self::CHECK..] == check_of(bytes) {
            true => Ok(Self {
                address,
                secret: (secret != [0; 16]).then_some(Secret(secret)),
            }),
            false => Err(NotAName::Damaged),
        }
    }
}

/// Not to keep anybody from anything: whoever can send a name can send a right one.
fn check_of(bytes: &[u8; Name::LEN]) -> [u8; 8] {
    let word = |at: usize| {
        bytes[at..at + 8]
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    let words = (0..Name::CHECK).step_by(8).map(word);
    let check = words.fold(0, |check, word| scrambled(check ^ word));
    check.to_le_bytes()
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bcl://{}", self.address)
    }
}

impl fmt::Display for NotAName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "it is not the name of an endpoint of BCL, of this version",
            Self::Damaged => {
                "it begins as the name of an endpoint of BCL, but was cut short or overwritten"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(node: u32, port: u16, secret: u128) -> Name {
        Name {
            address: Address {
                node: node.into(),
                port,
            },
            secret: (secret != 0).then_some(Secret(secret.to_be_bytes())),
        }
    }

    proptest! {
        #[test]
        fn bytes_round_trip(node: u32, port: u16, secret: u128) {
            let name = name(node, port, secret);
            prop_assert_eq!(Name::from_bytes(&name.to_bytes()), Ok(name));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            prop_assert!(Name::from_bytes(&bytes).is_err());
        }

        #[test]
        fn a_byte_that_is_wrong_is_noticed(
            node: u32,
            port: u16,
            secret: u128,
            at in 0..Name::LEN,
            by in 1u8..,
        ) {
            let mut bytes = name(node, port, secret).to_bytes();
            bytes[at] ^= by;
            prop_assert!(Name::from_bytes(&bytes).is_err());
        }

        #[test]
        fn a_name_cut_short_is_noticed(node: u32, port: u16, secret: u128, len in 8..Name::LEN) {
            let bytes = name(node, port, secret).to_bytes();
            prop_assert_eq!(Name::from_bytes(&bytes[..len]), Err(NotAName::Damaged));
            let mut padded = [0; Name::LEN];
            padded[..len].copy_from_slice(&bytes[..len]);
            // A check that ends in zeros is the same without them.
            prop_assert!(padded == bytes || Name::from_bytes(&padded) == Err(NotAName::Damaged));
        }
    }

    #[test]
    fn the_layout_stays_as_it_is() {
        let secret = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
        let bytes = name(0x0a00_0001, 258, secret).to_bytes();
        assert_eq!(bytes[..16], *b"BCLfi\0\0\x02\x01\0\0\x0a\x02\x01\0\0");
        assert_eq!(bytes[16..32], secret.to_be_bytes());
        assert_eq!(name(0x0a00_0001, 258, 0).to_bytes()[16..32], [0; 16]);
    }

    #[test]
    fn what_is_shown_has_no_secret() {
        let name = name(0x0a00_0001, 7, u128::MAX / 3);
        assert_eq!(name.to_string(), "bcl://10.0.0.1:7");
        let shown = format!("{name:?}");
        assert!(
            shown.contains("Secret(..)") && !shown.contains("85"),
            "{shown}"
        );
    }
}
