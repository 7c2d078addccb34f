//! A program that asks the agent for what it is told, line by line: `ok ...` or `error TEXT` is the answer.
//!
//! Orders: `connect`; `open NODE NUMBER|any [RING_BYTES]`; `enter N [PEER]`; `remove N`; `end N`; `memory BYTES`; `free N`;
//! `bind WINDOW MEMORY OFFSET BYTES ACCESS`; `unbind WINDOW`; `close`; `forget` (drops all but the descriptors);
//! `fork` (a child that inherits everything and sleeps; answers its number); `exec` (starts itself anew as the same
//! process); `attack PINS` (tries what it may not).

mod attack;

use bcl_os::Fd;
use std::error::Error;
use std::io::BufRead;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use bcl_agent_client::message::{Connection, Window};
use bcl_agent_client::{Agent, AgentPort, Key, OpenPort, Opened};
use bcl_testing::agent::free_socket;
use bcl_wire::udp_port::UDP_BASE;
use rustix::net::{self, AddressFamily, SocketType};

#[derive(Default)]
struct Asker {
    port: Option<AgentPort>,
    /// Kept open.
    fds: Vec<Fd>,
}

type Answer = Result<String, Box<dyn Error>>;

fn main() {
    let mut asker = Asker::default();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("orders are text");
        let words: Vec<&str> = line.split(' ').collect();
        match asker.obey(&words) {
            Ok(text) => println!("{}", format!("ok {text}").trim_end()),
            Err(error) => println!("error {error}"),
        }
    }
}

impl Asker {
    fn obey(&mut self, words: &[&str]) -> Answer {
        match words {
            ["connect"] => Agent::connect().map(drop)?,
            ["open", node, number] => return self.open(node, number, None),
            ["open", node, number, ring] => return self.open(node, number, Some(ring.parse()?)),
            ["enter", number] => return self.enter(number, "127.0.0.1:20001"),
            ["enter", number, peer] => return self.enter(number, peer),
            ["remove", number] => {
                let state = self.port()?.remove(number.parse()?, false)?;
                return Ok(state.map_or("none".into(), |state| state.expected.to_string()));
            }
            ["end", number] => drop(self.port()?.remove(number.parse()?, true)?),
            ["memory", bytes] => {
                let memory = self.port()?.make_memory(bytes.parse()?)?;
                self.fds.push(memory.map);
                return Ok(format!("{} {}", memory.number, memory.bytes));
            }
            ["free", number] => self.port()?.free_memory(number.parse()?)?,
            ["bind", window, memory, offset, bytes, access] => self.port()?.bind(&Window {
                window: window.parse()?,
                memory: memory.parse()?,
                offset: offset.parse()?,
                bytes: bytes.parse()?,
                access: access.parse()?,
            })?,
            ["unbind", window] => self.port()?.unbind(window.parse()?)?,
            ["close"] => {
                self.port()?;
                self.port.take().ok_or("no port")?.close()?;
                self.fds.clear();
            }
            ["forget"] => self.port = None,
            ["attack", pins] => {
                let [_, ring, _, statistics, ..] = self.fds.as_slice() else {
                    return Err("no port".into());
                };
                return Ok(attack::report(statistics, ring, Path::new(pins)));
            }
            ["fork"] => {
                // SAFETY: this program has one thread; the child only sleeps.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    loop {
                        std::thread::sleep(std::time::Duration::from_secs(3600));
                    }
                }
                return Ok(child.to_string());
            }
            ["exec"] => {
                println!("ok");
                return Err(Command::new("/proc/self/exe").exec().into());
            }
            _ => return Err(format!("what is '{}'?", words.join(" ")).into()),
        }
        Ok(String::new())
    }

    fn open(&mut self, node: &str, number: &str, ring_bytes: Option<u32>) -> Answer {
        let socket = bind(node.parse()?, number)?;
        let Opened {
            port,
            singly: _,
            ring,
            control,
            statistics,
        } = Agent::connect()?.open(&OpenPort {
            socket: socket.as_fd(),
            ring_bytes,
            secret: [9; 32],
        })?;
        let number = port.number().to_string();
        self.port = Some(port);
        let socket = Fd::own(socket.into());
        self.fds.extend([socket, ring, control, statistics]);
        Ok(number)
    }

    fn enter(&mut self, number: &str, peer: &str) -> Answer {
        self.port()?.enter(&Connection {
            connection: number.parse()?,
            peer: peer.parse()?,
            peer_connection: 1,
            key_theirs: Key([1; 16]),
            key_ours: Key([2; 16]),
            expected: 77,
            outcomes: Vec::new(),
        })?;
        Ok(String::new())
    }

    fn port(&mut self) -> Result<&mut AgentPort, &'static str> {
        self.port.as_mut().ok_or("no port")
    }
}

/// The socket of a port of this number, or of any. It may have an address that is not this machine's.
fn bind(node: Ipv4Addr, number: &str) -> Result<UdpSocket, Box<dyn Error>> {
    if number == "any" {
        return free_socket(node).ok_or("no UDP port is free".into());
    }
    let number: u16 = number.parse()?;
    let socket = net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    net::sockopt::set_ip_freebind(&socket, true)?;
    net::bind(&socket, &SocketAddrV4::new(node, UDP_BASE + number))?;
    Ok(UdpSocket::from(socket))
}
