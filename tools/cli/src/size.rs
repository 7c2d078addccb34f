//! Lengths as people write them: `8`, `1k`, `64K`, `1m`, `2G`; the letters stand for powers of 1024.

/// Reads one length in bytes.
pub fn parse(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: usize = digits.parse().map_err(|_| {
        format!("'{text}' is not a length: write bytes, or K, M, G for powers of 1024, as in 64k")
    })?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("'{text}' is longer than this machine's memory can be"))
}

/// Writes a length in bytes so that [`parse`] reads it back, as short as that allows.
pub fn show(bytes: usize) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let exact = units
        .iter()
        .find(|(shift, _)| bytes != 0 && bytes.is_multiple_of(1 << shift));
    match exact {
        Some((shift, letter)) => format!("{}{letter}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_powers_of_1024() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("8"), Ok(8));
        assert_eq!(parse("1k"), Ok(1024));
        assert_eq!(parse("64K"), Ok(65_536));
        assert_eq!(parse("3m"), Ok(3 << 20));
        assert_eq!(parse("2G"), Ok(2 << 30));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for text in [
            "",
            "k",
            "1kb",
            "-1",
            "1.5m",
            "1 k",
            "µ",
            "99999999999999999999",
        ] {
            assert!(parse(text).unwrap_err().contains("64k"), "{text}");
        }
        assert!(parse("17179869184G").unwrap_err().contains("memory"));
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for bytes in [0, 1, 8, 1000, 1024, 1536, 65_536, 5 << 20, 3 << 30] {
            assert_eq!(parse(&show(bytes)), Ok(bytes));
        }
        assert_eq!(show(1536), "1536");
        assert_eq!(show(4 << 20), "4M");
    }
}
