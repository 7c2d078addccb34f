//! A window of words, and what a peer does to it.

use bcl::{Access, Address, Buffer, DmaBuffer, Event, OpError, Port, Which};
use bcl_testing::PATIENCE;

/// Operations under way at once.
const DEPTH: usize = 64;
const WORD: usize = 8;

/// Binds so many words, in a DMA buffer, each of which is its index and a half of all bits.
pub fn bind(port: &mut Port, window: u16, count: usize, access: Access) -> Result<(), bcl::Error> {
    let mut buffer = DmaBuffer::new(WORD * count)?;
    for (index, word) in buffer.chunks_exact_mut(WORD).enumerate() {
        word.copy_from_slice(&first(index).to_le_bytes());
    }
    port.bind(window, buffer, access)
}

fn first(index: usize) -> u64 {
    index as u64 | 0xffff_ffff << 32
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a word"))
}

fn written(index: usize) -> u64 {
    index as u64 * 3 + 1
}

/// Unbinds it. One word of it, and how many are as they were, and as [`write()`] leaves them.
pub fn unbind(port: &mut Port, window: u16, index: usize) -> String {
    let memory = port.unbind(window).expect("it was bound");
    let words = memory.as_slice().chunks_exact(WORD);
    let words: Vec<u64> = words.map(word).collect();
    let count = |what: fn(usize) -> u64| {
        let words = words.iter().enumerate();
        words.filter(|(index, word)| what(*index) == **word).count()
    };
    format!("{} {} {}", words[index], count(first), count(written))
}

/// Puts so many words, one by one. How many operations went well, and how the others ended.
pub fn write(port: &mut Port, to: Address, window: u16, count: usize) -> String {
    operate(port, count, |port, index| {
        let word = written(index).to_le_bytes().to_vec();
        port.put(to, window, (WORD * index) as u64, word, 0)
    })
}

/// Gets so many words in one, and says the last.
pub fn read(port: &mut Port, from: Address, window: u16, count: usize) -> String {
    let memory = vec![0; WORD * count];
    port.get(from, window, 0, memory, 0).expect("a get starts");
    match next(port) {
        Some((Ok(()), Some(memory))) => {
            let last = memory.as_slice().rchunks_exact(WORD).next();
            word(last.expect("there is one")).to_string()
        }
        other => format!("{other:?}"),
    }
}

/// Adds 1 to the first word so often.
pub fn add(port: &mut Port, to: Address, window: u16, count: usize) -> String {
    operate(port, count, |port, _| port.fetch_add(to, window, 0, 1, 0))
}

/// Begins no more once the owner is gone.
fn operate(
    port: &mut Port,
    mut count: usize,
    start: impl Fn(&mut Port, usize) -> Result<(), bcl::Error>,
) -> String {
    let (mut started, mut ended, mut failures) = (0, 0, Vec::new());
    while ended < count {
        while started < count && started < ended + DEPTH {
            start(port, started).expect("an operation starts");
            started += 1;
        }
        let Some((result, _)) = next(port) else {
            return format!("stuck after {ended}");
        };
        if matches!(result, Err(OpError::PeerGone(_))) {
            count = started;
        }
        failures.extend(result.err());
        ended += 1;
    }
    let well = count - failures.len();
    failures.dedup();
    format!("{well} {failures:?}").replace(" []", "")
}

/// The end of an operation.
fn next(port: &mut Port) -> Option<(Result<(), OpError>, Option<Buffer>)> {
    loop {
        let event = port
            .wait(Which::Any, Some(PATIENCE))
            .expect("the port is open")?;
        if let Event::RmaDone { result, buffer, .. } = event {
            return Some((result, buffer));
        }
    }
}
