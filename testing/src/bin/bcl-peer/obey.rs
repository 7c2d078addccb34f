//! One port, one order a line, one answer a line. Between orders it does nothing, and polls nothing: that is
//! how a test brings an operation into the phase it wants.

use std::io::{BufRead, IoSlice, stdin};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bcl::{Access, Address, Buffer, DmaBuffer, Event, Port, Which};
use bcl_testing::{PATIENCE, contents};
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Obeys until the input ends.
pub fn run() {
    let mut port = Some(Port::open().expect("a port opens"));
    println!("{}", port.as_ref().expect("it is open").address());
    for line in stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["close"] => drop(port.take()),
            ["exit", status] => std::process::exit(number(status) as i32),
            ["abort"] => std::process::abort(),
            ["memory", "exhausted"] => limit_memory(Some(mapped_bytes())),
            ["memory", "free"] => limit_memory(None),
            ["files", "small"] => limit_files(Some(0)),
            ["files", "large"] => limit_files(None),
            ["descriptors", count] => limit_descriptors(number(count) as u64),
            ["grab", count] => grab(number(count) as u64),
            ["fly", ms] => fly(Duration::from_millis(number(ms) as u64)),
            ["open", wanted] => {
                port = Some(
                    Port::options()
                        .number(number(wanted) as u16)
                        .open()
                        .expect("the port opens again"),
                );
            }
            _ => {
                let port = port.as_mut().expect("the port is open");
                println!("{}", act(port, &words));
                continue;
            }
        }
        println!("ok");
    }
}

fn act(port: &mut Port, words: &[&str]) -> String {
    let done = match *words {
        ["system", to, len, count] => (0..number(count) as u64).try_for_each(|seed| {
            port.send_system(address(to), &contents::bytes(seed, number(len)), seed)
        }),
        ["meet", to] => return met(port, address(to)),
        ["send", to, channel, len, kind] => port.send(
            address(to),
            number(channel) as u16,
            filled(kind, number(len)),
            number(channel) as u64,
        ),
        ["post", channel, len] => port.post(
            number(channel) as u16,
            vec![0; number(len)],
            number(channel) as u64,
        ),
        ["bind", window, len, kind] => port.bind(
            number(window) as u16,
            filled(kind, number(len)),
            Access::ALL | Access::NOTIFY,
        ),
        ["words", window, count, access] => {
            let access = Access::from_bits(number(access) as u32).expect("there is such an access");
            crate::windows::bind(port, number(window) as u16, number(count), access)
        }
        ["word", window, index] => {
            return crate::windows::unbind(port, number(window) as u16, number(index));
        }
        ["write", to, window, count] => {
            return crate::windows::write(port, address(to), number(window) as u16, number(count));
        }
        ["read", to, window, count] => {
            return crate::windows::read(port, address(to), number(window) as u16, number(count));
        }
        ["add", to, window, count] => {
            return crate::windows::add(port, address(to), number(window) as u16, number(count));
        }
        ["put", to, window, len] => port.put(
            address(to),
            number(window) as u16,
            0,
            contents::bytes(1, number(len)),
            1,
        ),
        ["scatter", to, count] => crate::scatter::scatter(port, address(to), number(count) as u64),
        ["gather"] => return crate::scatter::gather(port),
        ["sent"] => return sent(port, None),
        ["poll", times] => return polled(port, number(times)),
        ["serve", ms] => return served(port, Duration::from_millis(number(ms) as u64)),
        ["keep", len] => DmaBuffer::new(number(len)).map(std::mem::forget),
        ["dma", len] => DmaBuffer::new(number(len)).map(drop),
        ["until", name, ms] => {
            return awaited(port, name, Duration::from_millis(number(ms) as u64));
        }
        ["copy"] => return port.peers().into_iter().map(|peer| peer.copy).collect(),
        _ => panic!("bcl-peer does not know the order {words:?}"),
    };
    done.map_or_else(|error| error.to_string(), |()| "ok".into())
}

/// Connects: a system message there, seen to be sent.
fn met(port: &mut Port, to: Address) -> String {
    port.send_system(to, b"hello", 0).expect("a send starts");
    sent(port, Some(PATIENCE))
}

/// Waits for the end of a send.
fn sent(port: &mut Port, timeout: Option<Duration>) -> String {
    let event = port.wait(Which::Send, timeout);
    match event.expect("the port is open") {
        Some(Event::Sent { result: Ok(()), .. }) => "ok".into(),
        other => format!("{other:?}"),
    }
}

/// Polls so often, and forgets what comes.
fn polled(port: &mut Port, times: usize) -> String {
    for _ in 0..times {
        if let Some(Event::Message(message)) = port.poll(Which::Any).expect("the port is open") {
            port.release(message).expect("a message can be released");
        }
    }
    "ok".into()
}

/// Answers with all events of so much time, each by its name.
fn served(port: &mut Port, time: Duration) -> String {
    let end = Instant::now() + time;
    let mut events = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return events.join(" ");
        }
        events.extend(next_name(port, left));
    }
}

/// Answers with the events up to the first whose name begins so, or with all if there is none in time.
fn awaited(port: &mut Port, name: &str, time: Duration) -> String {
    let end = Instant::now() + time;
    let mut events: Vec<String> = Vec::new();
    while !events.last().is_some_and(|last| last.starts_with(name)) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        events.extend(next_name(port, left));
    }
    events.join(" ")
}

/// The name of the next event, if one comes in time that has one.
fn next_name(port: &mut Port, time: Duration) -> Option<String> {
    match port
        .wait(Which::Any, Some(time))
        .expect("the port is open")?
    {
        Event::Message(message) => {
            port.release(message).expect("a message can be released");
            Some("message".to_owned())
        }
        Event::Sent { result, .. } => Some(named("sent", &result)),
        Event::Received { result, .. } => Some(named("received", &result)),
        Event::RmaDone { result, .. } => Some(named("rma", &result)),
        Event::PeerGone { cause, .. } => Some(format!("gone:{cause:?}").replace(' ', "")),
        _ => None,
    }
}

fn named(name: &str, result: &Result<(), bcl::OpError>) -> String {
    match result {
        Ok(()) => name.to_owned(),
        Err(error) => format!("{name}:{error:?}").replace(' ', ""),
    }
}

fn mapped_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc is there");
    let pages = statm.split(' ').next().map_or(0, number);
    (pages * rustix::param::page_size()) as u64
}

/// Lets the process map so many bytes; what it has already allocated can still be used again.
fn limit_memory(bytes: Option<u64>) {
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    setrlimit(Resource::As, limit).expect("a soft limit can be set");
}

/// Lets no file of the process be longer, nor what the kernel takes for one.
fn limit_files(bytes: Option<u64>) {
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    setrlimit(Resource::Fsize, limit).expect("a soft limit can be set");
}

fn limit_descriptors(count: u64) {
    let limit = Rlimit {
        current: Some(count),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    setrlimit(Resource::Nofile, limit).expect("a soft limit can be set");
}

/// Has so many descriptors, and takes each that becomes free, as the threads of a busy server do. Returns once there is
/// none left.
fn grab(count: u64) {
    limit_descriptors(count);
    let (full, is_full) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        loop {
            match stdin().as_fd().try_clone_to_owned() {
                Ok(taken) => std::mem::forget(taken),
                Err(_) => drop(full.try_send(())),
            }
        }
    });
    is_full.recv().expect("the table can be filled");
}

/// Has as many descriptors on their way as the limit lets one user have, for so long.
fn fly(time: Duration) {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    let ends = socketpair(AddressFamily::UNIX, kind, flags, None).expect("a socket pair");
    let input = stdin();
    let refused = loop {
        // Not the sockets themselves, which would keep each other.
        let fds = [input.as_fd(); 8];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let data = [IoSlice::new(b"x")];
        if let Err(errno) = sendmsg(&ends.0, &data, &mut control, SendFlags::DONTWAIT) {
            break errno;
        }
    };
    assert_eq!(
        refused,
        Errno::TOOMANYREFS,
        "run it under a limit, without privileges"
    );
    std::thread::spawn(move || {
        std::thread::sleep(time);
        drop(ends);
    });
}

fn filled(kind: &str, len: usize) -> Buffer {
    match kind {
        "dma" => {
            let mut buffer = DmaBuffer::new(len).expect("there is memory");
            buffer.copy_from_slice(&contents::bytes(len as u64, len));
            buffer.into()
        }
        "sparse" => contents::sparse(len as u64, len).into(),
        _ => contents::bytes(len as u64, len).into(),
    }
}

fn number(text: &str) -> usize {
    text.parse()
        .unwrap_or_else(|_| panic!("'{text}' is not a number"))
}

fn address(text: &str) -> Address {
    text.parse()
        .unwrap_or_else(|_| panic!("'{text}' is not an address"))
}
