//! Keys as they stand in messages: lower-case hexadecimal digits ([AGENT-2.2]).

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `LEN` bytes that are not to be printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<const LEN: usize>(pub [u8; LEN]);

impl<const LEN: usize> fmt::Debug for Key<LEN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl<const LEN: usize> Serialize for Key<LEN> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = b"0123456789abcdef";
        let text: String = self
            .0
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|digit| char::from(digits[usize::from(digit)]))
            .collect();
        serializer.serialize_str(&text)
    }
}

impl<'de, const LEN: usize> Deserialize<'de> for Key<LEN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits::<LEN>)
    }
}

struct Digits<const LEN: usize>;

impl<const LEN: usize> Visitor<'_> for Digits<LEN> {
    type Value = Key<LEN>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lower-case hexadecimal digits", 2 * LEN)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Key<LEN>, E> {
        // The text is not repeated: it may be most of a key.
        parse(text).ok_or_else(|| E::custom(format_args!("no {} hexadecimal digits", 2 * LEN)))
    }
}

fn parse<const LEN: usize>(text: &str) -> Option<Key<LEN>> {
    if text.len() != 2 * LEN {
        return None;
    }
    let mut bytes = [0; LEN];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(Key(bytes))
}

fn digit(symbol: u8) -> Option<u8> {
    match symbol {
        b'0'..=b'9' => Some(symbol - b'0'),
        b'a'..=b'f' => Some(symbol - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_round_trip(bytes: [u8; 16]) {
            let text = serde_json::to_string(&Key(bytes)).unwrap();
            prop_assert_eq!(text.len(), 34);
            prop_assert_eq!(serde_json::from_str::<Key<16>>(&text).unwrap(), Key(bytes));
        }
    }

    #[test]
    fn other_texts_are_refused_without_repeating_them() {
        for text in ["", "00", "0G", "é", "AB", "+1"] {
            let error = serde_json::from_value::<Key<1>>(text.into());
            assert_eq!(error.is_ok(), text == "00", "{text}");
        }
        let error = serde_json::from_value::<Key<16>>("abcdef".into()).unwrap_err();
        assert!(!error.to_string().contains("abcdef"), "{error}");
    }
}
