//! A process that, once connected, scribbles over everything that it can write.

use std::fs;
use std::io::stdin;

use bcl::{Access, Address, DmaBuffer, Event, Port, Which};
use bcl_testing::PATIENCE;
use bcl_types::Random;

/// Start and length of a mapping.
type Place = (usize, usize);

/// Connects to `victim`, then writes random bytes to all that it shares with it, until it is killed or so often.
pub fn run(victim: &str, seed: u64) {
    let victim: Address = victim.parse().expect("the victim is an address");
    let mut port = Port::open().expect("a port opens");
    println!("{}", port.address());
    let window = DmaBuffer::new(4096).expect("there is memory");
    port.bind(0, window, Access::ALL).expect("a window binds");
    port.send_system(victim, &[7; 3000], 1)
        .expect("a send starts");
    while !matches!(
        port.wait(Which::Send, Some(PATIENCE)),
        Ok(Some(Event::Sent { result: Ok(()), .. }))
    ) {}
    port.send(victim, 1, vec![1; 1 << 20], 2)
        .expect("a send starts");
    let (writable, read_only) = shared();
    // The victim's own page is not ours to write, and the kernel sees to that.
    assert!(!read_only.is_empty(), "the victim's page is mapped");
    for (start, len) in read_only {
        // SAFETY: the kernel refuses what is not allowed, and nobody here relies on the protection.
        let denied = unsafe { libc::mprotect(start as *mut _, len, libc::PROT_WRITE) };
        assert_eq!(denied, -1, "a page of the victim can be made writable");
    }
    let mut random = Random::new(seed);
    println!("scribbling");
    for round in 0..200_000u64 {
        let (start, len) = writable[random.below(writable.len() as u64) as usize];
        let at = start + 8 * random.below(len as u64 / 8) as usize;
        let value = match round % 3 {
            0 => random.next_u64(),
            1 => random.below(300),
            _ => random.below(9) << 32 | random.below(1 << 16),
        };
        // SAFETY: mapped and writable; nothing of this process is relied on any more.
        unsafe { std::ptr::write_volatile(at as *mut u64, value) };
    }
    println!("done");
    let _ = stdin().read_line(&mut String::new());
    // Its own state is spoilt: no destructor may look at it.
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Our mappings of pair segments, and of pages of others.
fn shared() -> (Vec<Place>, Vec<Place>) {
    let maps = fs::read_to_string("/proc/self/maps").expect("/proc is there");
    let (mut writable, mut read_only) = (Vec::new(), Vec::new());
    for line in maps.lines().filter(|line| line.contains("memfd:bcl-p")) {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let (start, end) = range.expect("a range comes first");
        let number = |hex| usize::from_str_radix(hex, 16).expect("it is a number");
        let place = (number(start), number(end) - number(start));
        let is_writable = words.next().is_some_and(|access| access.contains('w'));
        match (line.contains("bcl-pair"), is_writable) {
            (true, true) => writable.push(place),
            (false, false) => read_only.push(place),
            _ => {}
        }
    }
    assert!(!writable.is_empty(), "a pair segment is mapped");
    (writable, read_only)
}
