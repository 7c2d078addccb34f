//! One connection whose packets come by two CPUs at once: sequences are taken once each and in order, what is written adds up.

use std::collections::BTreeMap;
use std::thread;

use bcl_layout::tables::Window;
use bcl_wire::{CheckKey, Flags, Header, JobKeys, Kind, seal};
use bcl_xdp::Ring;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::frame::frame;
use crate::kernel::{HERE, Kernel, PORT, entry, keys, load};

const ID: u32 = 5;
const WINDOW: u16 = 1;
/// Packets; a third of each kind.
const PACKETS: u32 = 30_000;
const RING_BYTES: u32 = 1 << 24;
const PUT_BYTES: usize = 24;

/// Sequence `sequence`: a message, an addition or a PUT, by turns.
fn packet(job: &JobKeys, key: &CheckKey, sequence: u32) -> Vec<u8> {
    let (mut header, payload) = match sequence % 3 {
        0 => {
            let header = Header::new(Kind::Data);
            (header, sequence.to_le_bytes().to_vec())
        }
        1 => {
            let words: [u64; 3] = [1, u64::from(sequence), 0];
            let words = words.iter().flat_map(|word| word.to_le_bytes());
            (Header::new(Kind::Atomic), words.collect())
        }
        _ => {
            let mut header = Header::new(Kind::Put);
            header.offset = 64 + u64::from(sequence / 3) * PUT_BYTES as u64;
            (header, [sequence as u8; PUT_BYTES].to_vec())
        }
    };
    let len = payload.len();
    if header.kind != Kind::Atomic {
        header.length = len as u64;
        header.flags = Flags::FIRST | Flags::LAST;
    }
    if header.kind != Kind::Data {
        header.channel = WINDOW;
        header.slot = (sequence / 3 % 32) as u16 + 32 * u16::from(header.kind == Kind::Put);
    }
    header.message = sequence;
    header.sequence = sequence;
    header.to_connection = ID;
    header.from_port = 9;
    header.to_port = PORT;
    header.payload_len_bytes = len as u16;
    let mut head = header.to_bytes();
    seal(&mut head, &payload, job, key);
    frame(
        "10.77.0.2:20009".parse().expect("an address"),
        HERE,
        &[&head[..], &payload].concat(),
    )
}

/// Contents of all messages, as a program deals with records: those that are early wait for their turn ([MCP-6.4]).
fn in_order(ring: &mut Ring) -> Vec<u32> {
    let (mut seen, mut kept) = (Vec::new(), BTreeMap::new());
    while let Some(record) = ring.first() {
        let ack = record.ack;
        let content = record
            .payload
            .first_chunk()
            .copied()
            .map(u32::from_le_bytes);
        match content {
            Some(content) if record.is_early => {
                let header = bcl_wire::parse_header(record.header).expect("a header");
                assert!(kept.insert(header.sequence, content).is_none(), "twice");
            }
            Some(content) => seen.push(content),
            None => assert!(record.is_bare),
        }
        ring.release();
        let later = kept.split_off(&ack);
        seen.extend(std::mem::replace(&mut kept, later).into_values());
    }
    assert!(kept.is_empty(), "the turn of all has come");
    seen
}

/// The first two CPUs that this process may run on.
fn two_cpus() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).expect("the kernel tells");
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    Some([cpus.next()?, cpus.next()?])
}

#[test]
fn a_connection_on_two_cpus_at_once() {
    let Some(mcp) = load() else {
        return;
    };
    let Some(cpus) = two_cpus() else {
        println!("this process may run on one CPU only, nothing was checked");
        return;
    };
    let job = JobKeys::derive(&[4; 32]);
    let mut kernel = Kernel::new(mcp, &job, RING_BYTES);
    kernel.enter_connection(&entry(&job, ID, 0));
    let window_len = 64 + u64::from(PACKETS / 3 + 1) * PUT_BYTES as u64;
    kernel.enter_window(WINDOW, 0, window_len, Window::PUT | Window::ATOMIC);
    let key = keys(&job, ID).from_initiator;
    let frames: Vec<Vec<u8>> = (0..PACKETS).map(|n| packet(&job, &key, n)).collect();

    // Both show all packets, a few from before and beyond among them, as if the network had doubled and mixed them.
    let (mcp, frames) = (&kernel.mcp, &frames);
    thread::scope(|scope| {
        for (turn, cpu) in cpus.into_iter().enumerate() {
            scope.spawn(move || {
                let mut set = CpuSet::new();
                set.set(cpu);
                sched_setaffinity(None, &set).expect("the CPU is ours");
                let mut out = vec![0; 4096];
                let mut at = 0;
                while at < frames.len() {
                    let expected = mcp
                        .tables
                        .connections
                        .get(&bcl_layout::tables::ConnectionKey {
                            port: crate::kernel::INDEX,
                            id: ID,
                        });
                    at = expected.expect("a table").expect("a connection").expected as usize;
                    let until = frames.len().min(at + 24 + 8 * turn);
                    for frame in &frames[at.saturating_sub(turn)..until] {
                        mcp.run(frame, &mut out, 1).expect("it runs");
                    }
                }
            });
        }
    });

    let state = kernel.connection(ID).expect("a connection");
    assert_eq!((state.expected, state.ahead, state.lock), (PACKETS, 0, 0));
    let messages: Vec<u32> = (0..PACKETS).step_by(3).collect();
    assert_eq!(in_order(&mut kernel.ring), messages);
    let (_, memory, _) = kernel.window(WINDOW).expect("memory");
    let sum: u64 = (1..PACKETS).step_by(3).map(u64::from).sum();
    assert_eq!(
        u64::from_le_bytes(memory[..8].try_into().expect("8 bytes")),
        sum
    );
    for (index, put) in memory[64..]
        .chunks_exact(PUT_BYTES)
        .take(PACKETS as usize / 3)
        .enumerate()
    {
        assert_eq!(put, [(3 * index + 2) as u8; PUT_BYTES], "PUT {index}");
    }
    let counted: Vec<_> = kernel.counters.each().collect();
    println!("on CPUs {cpus:?}: {counted:?}");
    let duplicates = counted.iter().find(|(name, _)| *name == "duplicate");
    assert!(
        duplicates.is_some_and(|(_, count)| *count > 0),
        "the two have met"
    );
}
