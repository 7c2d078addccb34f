//! A protocol for a network that never does wrong: one datagram for each thing, and nothing is checked.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use bcl_sim::oracle::Seat;
use bcl_sim::party::{Failure, Held, News, Party, Request, Setup};

const SYSTEM: u8 = 0;
const UNRELIABLE: u8 = 1;
const NORMAL: u8 = 2;
const FIN: u8 = 3;
const PUT: u8 = 4;
const GET: u8 = 5;
const ADD: u8 = 6;
const SWAP: u8 = 7;
const ANSWER: u8 = 8;

const HEADER_BYTES: usize = 40;

pub struct Naive {
    setup: Setup,
    window: Vec<u8>,
    outgoing: VecDeque<(SocketAddr, Vec<u8>)>,
    news: VecDeque<News>,
    posts: BTreeMap<u16, VecDeque<usize>>,
    waiting: BTreeMap<u64, (Header, Vec<u8>)>,
    messages: u64,
}

#[derive(Clone, Copy, Default)]
struct Header {
    kind: u8,
    from: u8,
    channel: u16,
    op: u64,
    offset: u64,
    a: u64,
    b: u64,
}

impl Header {
    fn write(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![self.kind, self.from];
        bytes.extend_from_slice(&self.channel.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for word in [self.op, self.offset, self.a, self.b] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let word = |at: usize| {
            let word = head[at..at + 8].first_chunk().copied();
            u64::from_le_bytes(word.unwrap_or_default())
        };
        Some(Self {
            kind: head[0],
            from: head[1],
            channel: u16::from_le_bytes([head[2], head[3]]),
            op: word(8),
            offset: word(16),
            a: word(24),
            b: word(32),
        })
    }
}

impl Naive {
    fn emit(&mut self, to: Seat, header: Header, payload: &[u8]) {
        let header = Header {
            from: self.setup.seat as u8,
            ..header
        };
        if let Some(address) = self.setup.addresses.get(to) {
            self.outgoing.push_back((*address, header.write(payload)));
        }
    }

    fn answer(&mut self, header: Header, value: u64, payload: &[u8]) {
        let answer = Header {
            kind: ANSWER,
            op: header.op,
            a: value,
            ..Header::default()
        };
        self.emit(header.from.into(), answer, payload);
    }

    fn fill(&mut self, message: u64, header: Header, payload: Vec<u8>, capacity_bytes: usize) {
        let fits = payload.len() <= capacity_bytes;
        let result = if fits {
            Ok(payload)
        } else {
            Err(Failure::Truncated)
        };
        self.news.push_back(News::Received { message, result });
        let fin = Header {
            kind: FIN,
            op: header.op,
            a: u64::from(fits),
            ..Header::default()
        };
        self.emit(header.from.into(), fin, &[]);
    }

    fn word(&mut self, offset: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        let Some(place) = self.window.get_mut(offset as usize..offset as usize + 8) else {
            return 0;
        };
        let found = u64::from_le_bytes(place.first_chunk().copied().unwrap_or_default());
        place.copy_from_slice(&change(found).to_le_bytes());
        found
    }
}

impl Party for Naive {
    type Common = ();

    fn start(_now_ns: u64, setup: &Setup, _common: &()) -> Self {
        Self {
            window: vec![0; setup.window_bytes],
            setup: setup.clone(),
            outgoing: VecDeque::new(),
            news: VecDeque::new(),
            posts: BTreeMap::new(),
            waiting: BTreeMap::new(),
            messages: 0,
        }
    }

    fn handle(&mut self, _now_ns: u64, _from: SocketAddr, bytes: &mut [u8]) {
        let Some(header) = Header::read(bytes) else {
            return;
        };
        let payload = &bytes[HEADER_BYTES..];
        let from = Seat::from(header.from);
        self.messages += 1;
        let message = self.messages;
        match header.kind {
            SYSTEM | UNRELIABLE => self.news.push_back(News::Message {
                from,
                message,
                bytes: payload.to_vec(),
            }),
            NORMAL => {
                let post = self.posts.entry(header.channel).or_default().pop_front();
                self.news.push_back(News::Arrived {
                    from,
                    channel: header.channel,
                    message,
                    len_bytes: payload.len() as u64,
                    waits: post.is_none(),
                });
                match post {
                    Some(capacity) => self.fill(message, header, payload.to_vec(), capacity),
                    None => {
                        self.waiting.insert(message, (header, payload.to_vec()));
                    }
                }
            }
            FIN => self.news.push_back(News::Ended {
                op: header.op,
                result: if header.a == 1 {
                    Ok((0, Vec::new()))
                } else {
                    Err(Failure::Truncated)
                },
            }),
            PUT => {
                let start = header.offset as usize;
                if let Some(place) = self.window.get_mut(start..start + payload.len()) {
                    place.copy_from_slice(payload);
                }
                self.answer(header, 0, &[]);
            }
            GET => {
                let (start, len) = (header.offset as usize, header.a as usize);
                let found = self.window.get(start..start.saturating_add(len));
                let found = found.unwrap_or_default().to_vec();
                self.answer(header, 0, &found);
            }
            ADD => {
                let found = self.word(header.offset, |value| value + 1);
                self.answer(header, found, &[]);
            }
            SWAP => {
                let swap = |value| if value == header.a { header.b } else { value };
                let found = self.word(header.offset, swap);
                self.answer(header, found, &[]);
            }
            ANSWER => self.news.push_back(News::Ended {
                op: header.op,
                result: Ok((header.a, payload.to_vec())),
            }),
            _ => {}
        }
    }

    fn transmit(&mut self, _now_ns: u64) -> Option<(SocketAddr, Vec<u8>)> {
        self.outgoing.pop_front()
    }

    fn next_timeout_ns(&mut self) -> Option<u64> {
        None
    }

    fn on_timeout(&mut self, _now_ns: u64) {}

    fn request(&mut self, _now_ns: u64, to: Seat, request: Request) {
        let none = Header::default();
        let (header, payload) = match request {
            Request::System { op, bytes } => {
                let result = Ok((0, Vec::new()));
                self.news.push_back(News::Ended { op, result });
                let header = Header {
                    kind: SYSTEM,
                    ..none
                };
                (header, bytes)
            }
            Request::Unreliable { bytes } => (
                Header {
                    kind: UNRELIABLE,
                    ..none
                },
                bytes,
            ),
            Request::Normal { op, channel, bytes } => (
                Header {
                    kind: NORMAL,
                    op,
                    channel,
                    ..none
                },
                bytes,
            ),
            Request::Put { op, offset, bytes } => (
                Header {
                    kind: PUT,
                    op,
                    offset,
                    ..none
                },
                bytes,
            ),
            Request::Get {
                op,
                offset,
                len_bytes,
            } => (
                Header {
                    kind: GET,
                    op,
                    offset,
                    a: len_bytes as u64,
                    ..none
                },
                Vec::new(),
            ),
            Request::Add { op, offset } => (
                Header {
                    kind: ADD,
                    op,
                    offset,
                    ..none
                },
                Vec::new(),
            ),
            Request::Swap {
                op,
                offset,
                compare,
                new,
            } => (
                Header {
                    kind: SWAP,
                    op,
                    offset,
                    a: compare,
                    b: new,
                    ..none
                },
                Vec::new(),
            ),
        };
        self.emit(to, header, &payload);
    }

    fn post(&mut self, _now_ns: u64, channel: u16, capacity_bytes: usize) {
        let posts = self.posts.entry(channel).or_default();
        posts.push_back(capacity_bytes);
    }

    fn accept(&mut self, _now_ns: u64, message: u64, capacity_bytes: usize) {
        if let Some((header, payload)) = self.waiting.remove(&message) {
            self.fill(message, header, payload, capacity_bytes);
        }
    }

    fn release(&mut self, _now_ns: u64, _message: u64) {}

    fn close(&mut self, _now_ns: u64) {}

    fn is_drained(&self) -> bool {
        true
    }

    fn moved(&mut self, seat: Seat, address: SocketAddr) {
        self.setup.addresses[seat] = address;
    }

    fn news(&mut self, _now_ns: u64) -> Option<News> {
        self.news.pop_front()
    }

    fn window_word(&self, index: usize) -> u64 {
        let place = self.window.get(index * 8..index * 8 + 8);
        let word = place.and_then(|place| place.first_chunk().copied());
        u64::from_le_bytes(word.unwrap_or_default())
    }

    fn held(&self) -> Held {
        Held::default()
    }

    fn describe(bytes: &[u8]) -> String {
        format!("{} B", bytes.len())
    }
}
