//! A process that writes anything over everything it can write spoils its own messages. Its peer lives on,
//! and so do the messages of others ([SHM-8.2]).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use bcl::{Address, Event, Port, Which};
use bcl_types::Random;

const SCRIBBLERS: u64 = 6;
const WRITES: u64 = 60_000;
const CHANNEL: u16 = 1;
/// Long enough for any machine.
const NEVER: Duration = Duration::from_secs(60);
const TO: &str = "BCL_TEST_SCRIBBLE_TO";
const FOLDER: &str = "BCL_TEST_SCRIBBLE_FOLDER";
const SEED: &str = "BCL_TEST_SCRIBBLE_SEED";

#[test]
fn a_peer_that_scribbles_harms_only_itself() {
    let folder = std::env::temp_dir().join(format!("bcl-scribble-{}", std::process::id()));
    let mut victim = Victim::new(&folder);
    let echo = Echo::start(&folder, victim.port.address());
    for seed in 1..=SCRIBBLERS {
        let mut child = scribbler(&folder, victim.port.address(), seed);
        // It may well crash: it writes over its own books as well.
        while victim.connected < seed
            || child.try_wait().expect("a child").is_none()
            || victim.scribblers > 0
        {
            victim.round_trip(echo.address);
        }
    }
    for _ in 0..100 {
        victim.round_trip(echo.address);
    }
    victim.send(echo.address, &[]);
    echo.thread.join().expect("the other peer is unharmed");
    let _ = std::fs::remove_dir_all(folder);
}

struct Victim {
    port: Port,
    random: Random,
    connected: u64,
    scribblers: u64,
    trips: u64,
}

impl Victim {
    fn new(folder: &Path) -> Self {
        let mut port = open(folder);
        port.post(CHANNEL, vec![0; 20_000], 0).expect("a post");
        Self {
            port,
            random: Random::new(1),
            connected: 0,
            scribblers: 0,
            trips: 0,
        }
    }

    fn send(&mut self, to: Address, data: &[u8]) {
        self.port
            .send(to, CHANNEL, data.to_vec(), 0)
            .expect("a send");
    }

    /// Sends a message of some length to the echo, and waits for the same to come back.
    fn round_trip(&mut self, echo: Address) {
        self.trips += 1;
        let len = 1 + self.random.index(20_000);
        let sent: Vec<u8> = (0..len)
            .map(|index| (index as u64 + self.trips) as u8)
            .collect();
        self.send(echo, &sent);
        while self.next_reply(echo).is_none_or(|reply| {
            assert!(reply == sent, "a message between others was spoilt");
            false
        }) {}
    }

    /// Takes one event; a reply of the echo if it is one.
    fn next_reply(&mut self, echo: Address) -> Option<Vec<u8>> {
        let event = self.port.wait(Which::Any, Some(NEVER)).expect("a wait");
        match event.expect("the echo is silent") {
            Event::Received {
                from,
                len_bytes,
                result,
                buffer,
                ..
            } => {
                let buffer = buffer.expect("the buffer that was posted");
                let bytes = buffer.as_slice();
                let reply = (from == echo).then(|| {
                    assert_eq!(result, Ok(()));
                    bytes[..len_bytes as usize].to_vec()
                });
                self.port.post(CHANNEL, vec![0; 20_000], 0).expect("a post");
                reply
            }
            Event::Message(message) => {
                let sum = self.port.data(&message).iter().map(|byte| u64::from(*byte));
                std::hint::black_box(sum.sum::<u64>());
                self.port.release(message).expect("a release");
                None
            }
            Event::PeerUp { peer, .. } if peer != echo => {
                self.connected += 1;
                self.scribblers += 1;
                // Something for it to spoil on the way back, too.
                self.send(peer, &vec![1; 100_000]);
                None
            }
            Event::PeerGone { peer, .. } => {
                assert_ne!(peer, echo, "a peer that did nothing wrong is gone");
                self.scribblers -= 1;
                None
            }
            Event::Sent { to, result, .. } => {
                assert!(to != echo || result.is_ok());
                None
            }
            _ => None,
        }
    }
}

/// A peer that keeps to the rules: it sends back what it gets, until it gets nothing.
struct Echo {
    address: Address,
    thread: std::thread::JoinHandle<()>,
}

impl Echo {
    fn start(folder: &Path, victim: Address) -> Self {
        let mut port = open(folder);
        let address = port.address();
        let thread = std::thread::spawn(move || {
            loop {
                port.post(CHANNEL, vec![0; 20_000], 0).expect("a post");
                let message = loop {
                    match port.wait(Which::Any, Some(NEVER)).expect("a wait") {
                        Some(Event::Received {
                            len_bytes, buffer, ..
                        }) => {
                            let buffer = buffer.expect("the buffer that was posted");
                            break buffer.as_slice()[..len_bytes as usize].to_vec();
                        }
                        Some(_) => {}
                        None => panic!("the victim is silent"),
                    }
                };
                if message.is_empty() {
                    return;
                }
                port.send(victim, CHANNEL, message, 0).expect("a send");
            }
        });
        Self { address, thread }
    }
}

fn open(folder: &Path) -> Port {
    Port::options().folder(folder).open().expect("a port opens")
}

fn scribbler(folder: &Path, to: Address, seed: u64) -> Child {
    Command::new(std::env::current_exe().expect("this test has a file"))
        .args(["--exact", "scribble_if_asked", "--nocapture"])
        .env(TO, to.to_string())
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a child")
}

/// Not a test of its own, but what the child process of the other one does.
#[test]
fn scribble_if_asked() {
    let (Ok(to), Some(folder), Ok(seed)) = (
        std::env::var(TO),
        std::env::var_os(FOLDER),
        std::env::var(SEED),
    ) else {
        return;
    };
    let to: Address = to.parse().expect("an address");
    let mut random = Random::new(seed.parse().expect("a number"));
    let mut port = open(&PathBuf::from(folder));
    port.send_system(to, b"hello", 0).expect("a message");
    while !matches!(
        port.wait(Which::Any, Some(NEVER)),
        Ok(Some(Event::PeerUp { .. }))
    ) {}
    let shared = shared_memory();
    assert!(!shared.is_empty(), "nothing to scribble on");
    for _ in 0..WRITES {
        scribble(&shared, &mut random);
        if random.below(64) == 0 {
            let data = vec![3; random.index(9_000)];
            let _ = port.send_system(to, &data[..data.len().min(8192)], 0);
            let _ = port.post(CHANNEL, vec![0; 1000], 0);
            let _ = port.send(to, CHANNEL, data, 0);
            let _ = port.poll(Which::Any);
        }
    }
    std::process::exit(0);
}

/// The segments of pairs that this process can write.
fn shared_memory() -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the list of mappings");
    let ours = maps
        .lines()
        .filter(|line| line.contains(" rw-s ") && line.contains("/memfd:bcl-pair"));
    ours.filter_map(|line| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some(address(start)?..address(end)?)
    })
    .collect()
}

/// Writes a word: anything, or something that nearly makes sense, and most of it where the rings begin.
fn scribble(shared: &[Range<usize>], random: &mut Random) {
    let segment = &shared[random.index(shared.len())];
    let words = segment.len() / 8;
    let words = match random.below(3) {
        0 => words,
        1 => 4096 / 8,
        _ => 8192 / 8,
    };
    let place = segment.start + random.index(words) * 8;
    let value = match random.below(4) {
        0 => random.next_u64(),
        1 => random.below(200),
        _ => ((random.below(9)) << 32) | (random.below(200)) | (u64::from(CHANNEL) << 48),
    };
    // SAFETY: the place is mapped writable; that nobody else counts on its contents is what is tested.
    unsafe { std::ptr::with_exposed_provenance_mut::<u64>(place).write_volatile(value) };
}
