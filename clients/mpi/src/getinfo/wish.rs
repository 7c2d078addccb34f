//! Whether a wish can be granted; if not, it is named.

/// The capabilities of one half of an endpoint: those asked for, which have to be among all that were.
pub(super) fn half(what: &str, asked: u64, own: u64, all: u64) -> Result<u64, String> {
    if asked == 0 {
        return Ok(own);
    }
    all_of(&format!("{what}.caps"), asked, all)?;
    Ok(asked & own)
}

pub(super) fn all_of(what: &str, asked: u64, there: u64) -> Result<u64, String> {
    match asked & !there {
        0 => Ok(asked),
        absent => Err(format!(
            "{what} is {asked:#x}, of which {absent:#x} is not there"
        )),
    }
}

pub(super) fn at_most(what: &str, asked: usize, most: usize) -> Result<(), String> {
    match asked <= most {
        true => Ok(()),
        false => Err(format!("{what} is {asked}, and {most} is the most")),
    }
}

pub(super) fn one_of(what: &str, asked: u32, there: &[u32], otherwise: &str) -> Result<(), String> {
    match there.contains(&asked) {
        true => Ok(()),
        false => Err(format!("{what} is {asked}: {otherwise}")),
    }
}
