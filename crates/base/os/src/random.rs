//! Numbers that nobody can guess.

use std::io::{self, Read};

use rustix::fs::{Mode, OFlags};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::Fd;

/// Fills a few bytes from the kernel's random numbers.
///
/// # Errors
/// When neither the system call may be made nor the device be read that gives the same.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    // Up to 256 bytes come whole or not at all.
    match getrandom(&mut *bytes, GetRandomFlags::empty()) {
        Ok(len) if len == bytes.len() => Ok(()),
        _ => from_device(bytes),
    }
}

fn from_device(bytes: &mut [u8]) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let device = Fd::make(|| rustix::fs::open("/dev/urandom", flags, Mode::empty()));
    let read = device.map_err(io::Error::from);
    read.and_then(|mut device| device.read_exact(bytes))
        .map_err(|error| {
            let why = format!("getrandom is refused to this process, and /dev/urandom: {error}");
            io::Error::new(error.kind(), why)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_what_is_not_the_same_twice() {
        let mut seen = [[0; 16]; 4];
        for (index, bytes) in seen.iter_mut().enumerate() {
            let filled = match index % 2 {
                0 => random(bytes),
                _ => from_device(bytes),
            };
            filled.unwrap();
        }
        assert!((1..4).all(|index| !seen[..index].contains(&seen[index])));
    }
}
