//! A port with one connection, and the peer that sends to it.

use std::net::SocketAddrV4;
use std::sync::Arc;

use bcl_layout::Record;
use bcl_mcp_model::{Entry, ModelPort, Verdict, Window};
use bcl_wire::{
    ConnectionKeys, Flags, Header, JobKeys, Kind, RmaStatus, Transcript, parse, seal, verify,
};

/// The program's number of the connection, and the peer's.
pub const CONNECTION: u32 = 0x0007_0003;
pub const PEERS: u32 = 0x0001_0009;
/// Numbers of the ports.
pub const OWN: u16 = 5;
pub const PEER: u16 = 6;

pub struct Bench {
    pub port: ModelPort,
    job: Arc<JobKeys>,
    keys: ConnectionKeys,
    /// Sequence of the next packet.
    pub next: u32,
}

/// What came of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    Passed,
    Nothing,
    Back(Box<Header>, Vec<u8>),
}

impl Came {
    pub fn back(self) -> (Header, Vec<u8>) {
        match self {
            Self::Back(header, payload) => (*header, payload),
            other => panic!("no answer but {other:?}"),
        }
    }

    /// Kind and acknowledgement of what came back.
    pub fn ack(self) -> (Kind, u32) {
        let (header, _) = self.back();
        (header.kind, header.ack)
    }
}

impl Bench {
    pub fn new() -> Self {
        Self::with(64 << 10, 100)
    }

    pub fn with(ring_bytes: usize, expected: u32) -> Self {
        let job = Arc::new(JobKeys::derive(&[7; 32]));
        let keys = job.connection(&Transcript {
            initiator: (1, PEER),
            responder: (2, OWN),
            initiator_incarnation: 3,
            responder_incarnation: 4,
            initiator_nonce: 5,
            token: 6,
        });
        let mut port = ModelPort::new(OWN, job.clone(), ring_bytes);
        port.enter_connection(Entry {
            id: CONNECTION,
            theirs: keys.from_initiator,
            ours: keys.from_responder,
            expected,
            outcomes: Vec::new(),
        });
        Self {
            port,
            job,
            keys,
            next: expected,
        }
    }

    pub fn window(&mut self, number: u16, len_bytes: usize, access: u32) {
        let window = Window {
            memory: vec![0; len_bytes],
            len_bytes: len_bytes as u64,
            access,
        };
        self.port.enter_window(number, window);
        self.port.control.offer(number, true);
    }

    pub fn memory(&mut self, number: u16) -> &[u8] {
        &self.port.window(number).expect("a window").memory
    }

    /// The datagram of the peer with this header, whose addresses and lengths are filled in.
    pub fn datagram(&self, header: &Header, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            to_connection: CONNECTION,
            from_connection: PEERS,
            from_port: PEER,
            to_port: OWN,
            payload_len_bytes: payload.len() as u16,
            ..*header
        };
        let mut head = header.to_bytes();
        seal(&mut head, payload, &self.job, &self.keys.from_initiator);
        [&head, payload].concat()
    }

    pub fn receive(&mut self, datagram: &[u8]) -> Came {
        let back = match self.port.handle(peers_address(), datagram) {
            Verdict::Pass => return Came::Passed,
            Verdict::Drop => return Came::Nothing,
            Verdict::Reply(back) => back,
        };
        let (header, payload) = parse(back).expect("an answer that is a packet");
        assert!(verify(back, &self.job, &self.keys.from_responder));
        assert_eq!(
            (header.to_connection, header.from_connection),
            (PEERS, CONNECTION)
        );
        assert_eq!((header.to_port, header.from_port), (PEER, OWN));
        Came::Back(Box::new(header), payload.to_vec())
    }

    pub fn send(&mut self, header: &Header, payload: &[u8]) -> Came {
        let datagram = self.datagram(header, payload);
        self.receive(&datagram)
    }

    /// The next in sequence.
    pub fn follow(&mut self, header: Header, payload: &[u8]) -> Came {
        let sequence = self.next;
        self.next = self.next.wrapping_add(1);
        self.send(&Header { sequence, ..header }, payload)
    }

    /// Kinds in the ring, with whether each is placed, acknowledged and what may be acknowledged; all are released.
    pub fn records(&mut self) -> Vec<(Kind, bool, bool, u32)> {
        self.drain(|header, record| (header.kind, record.is_placed, record.is_acked, record.ack))
    }

    /// Something of each record in the ring; all are released.
    pub fn drain<T>(&mut self, of: impl Fn(&Header, &Record<'_>) -> T) -> Vec<T> {
        let mut all = Vec::new();
        while let Some(record) = self.port.ring.next_record() {
            let header = bcl_wire::parse_header(record.header).expect("a header");
            all.push(of(&header, &record));
            self.port.ring.release();
        }
        all
    }

    pub fn expected(&self) -> u32 {
        self.port
            .connection(CONNECTION)
            .expect("it is entered")
            .expected
    }
}

pub fn peers_address() -> SocketAddrV4 {
    "10.0.0.9:20006".parse().expect("an address")
}

/// A whole system message.
pub fn message(number: u32) -> Header {
    Header {
        flags: Flags::FIRST | Flags::LAST,
        message: number,
        ..Header::new(Kind::Data)
    }
}

/// With the length of its payload as that of the message.
pub fn data(number: u32, payload: &[u8]) -> Header {
    Header {
        length: payload.len() as u64,
        ..message(number)
    }
}

/// A whole put.
pub fn put(number: u32, slot: u16, window: u16, offset: u64, len_bytes: u64) -> Header {
    Header {
        flags: Flags::FIRST | Flags::LAST,
        message: number,
        slot,
        channel: window,
        offset,
        length: len_bytes,
        ..Header::new(Kind::Put)
    }
}

/// Status of an answer.
pub fn status(came: Came) -> RmaStatus {
    let (header, _) = came.back();
    assert_eq!(header.kind, Kind::Answer);
    RmaStatus::from_number(header.length as u8).expect("a status")
}
