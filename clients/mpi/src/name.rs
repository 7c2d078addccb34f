//! What an endpoint is called: bytes that programs hand to each other and put into address vectors.
//!
//! ```text
//!  0  "BCLfi" 0 0 and the version of this layout, 1
//!  8  node and port, as bcl_types::Address has them
//! 16  zero, for what a name may have to say one day
//! 24  a check of all before, so that one that was cut short or overwritten is noticed
//! ```

use std::fmt;

use bcl_types::{Address, scrambled};

/// The format of addresses, in `fi_info`: one of ours, which no other provider has. The uppermost bit says that a provider
/// has made the number up.
pub const FI_ADDR_BCL: u32 = 1 << 31 | 0x0042_434c;

const MAGIC: [u8; 8] = *b"BCLfi\0\0\x01";

/// A name that was checked. Its port may be 0: then it is one to which nothing can be sent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(pub Address);

/// Why some bytes are no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAName {
    /// Somebody else's, or of another version of ours.
    Foreign,
    /// Cut short, or overwritten.
    Damaged,
}

impl Name {
    /// Bytes that each has: MPI libraries give up to 64 of them a place.
    pub const LEN: usize = 32;

    /// As bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.0.to_bytes());
        let check = check_of(&bytes);
        bytes[24..].copy_from_slice(&check);
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
        match bytes[24..] == check_of(bytes) {
            true => Ok(Self(address)),
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
    scrambled(scrambled(word(8)) ^ word(0) ^ word(16)).to_le_bytes()
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bcl://{}", self.0)
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

    fn name(node: u32, port: u16) -> Name {
        Name(Address {
            node: node.into(),
            port,
        })
    }

    proptest! {
        #[test]
        fn bytes_round_trip(node: u32, port: u16) {
            let name = name(node, port);
            prop_assert_eq!(Name::from_bytes(&name.to_bytes()), Ok(name));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            prop_assert!(Name::from_bytes(&bytes).is_err());
        }

        #[test]
        fn a_byte_that_is_wrong_is_noticed(node: u32, port: u16, at in 0..Name::LEN, by in 1u8..) {
            let mut bytes = name(node, port).to_bytes();
            bytes[at] ^= by;
            prop_assert!(Name::from_bytes(&bytes).is_err());
        }

        #[test]
        fn a_name_cut_short_is_noticed(node: u32, port: u16, len in 8..Name::LEN) {
            let bytes = name(node, port).to_bytes();
            prop_assert_eq!(Name::from_bytes(&bytes[..len]), Err(NotAName::Damaged));
            let mut padded = [0; Name::LEN];
            padded[..len].copy_from_slice(&bytes[..len]);
            // A check that ends in zeros is the same without them.
            prop_assert!(padded == bytes || Name::from_bytes(&padded) == Err(NotAName::Damaged));
        }
    }

    #[test]
    fn the_layout_stays_as_it_is() {
        let bytes = name(0x0a00_0001, 258).to_bytes();
        assert_eq!(
            bytes[..24],
            *b"BCLfi\0\0\x01\x01\0\0\x0a\x02\x01\0\0\0\0\0\0\0\0\0\0"
        );
        assert_eq!(name(0x0a00_0001, 7).to_string(), "bcl://10.0.0.1:7");
    }
}
