//! How a packet is shown: a line for people, an object for programs.

use std::time::Duration;

use bcl_wire::{
    FinStatus, Header, Kind, NakReason, ParseError, RefuseReason, RmaStatus, body,
    versions_of_detail,
};
use serde_json::{Value, json};

use super::frame::Datagram;
use super::packets::Verdict;

/// One packet of a capture.
pub struct Packet<'a> {
    pub time: Duration,
    pub datagram: Datagram<'a>,
    pub bytes: &'a [u8],
    pub parsed: Result<(Header, &'a [u8]), ParseError>,
    pub verdict: Verdict,
}

impl Packet<'_> {
    /// Time, addresses and ports, kind, what the kind has, and the verdict.
    pub fn line(&self) -> String {
        let ends = format!(
            "{} {} > {}",
            clock(self.time),
            self.datagram.source,
            self.datagram.destination
        );
        let (header, payload) = match &self.parsed {
            Ok(parsed) => parsed,
            Err(error) => return format!("{ends} {}", self.complaint(error)),
        };
        let flags: Vec<&str> = header.flags.names().collect();
        let mut line = format!("{ends} {}", header.kind);
        line += &format!(" port {} > {}", header.from_port, header.to_port);
        if header.is_sequenced() {
            line += &format!(" seq {}", header.sequence);
        }
        if !header.kind.is_setup() && header.kind != Kind::Refuse {
            line += &format!(" ack {}", header.ack);
        }
        line += &details(header, payload);
        if !flags.is_empty() {
            line += &format!(" {}", flags.join("|"));
        }
        if header.rail != 0 {
            line += &format!(" rail {}", header.rail);
        }
        line + &format!(" len {} check {}", payload.len(), self.verdict.name())
    }

    /// All fields, as numbers.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "time": self.time.as_secs_f64(),
            "from": self.datagram.source.to_string(),
            "to": self.datagram.destination.to_string(),
        });
        let more = match &self.parsed {
            Ok((header, _)) => fields(header, self.verdict),
            Err(error) => json!({ "error": self.complaint(error) }),
        };
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }

    fn complaint(&self, error: &ParseError) -> String {
        if self.datagram.is_cut {
            format!(
                "incomplete: only {} bytes of it are in the capture, or in the first fragment",
                self.bytes.len()
            )
        } else {
            format!("malformed: {error}")
        }
    }
}

/// What a kind has beside what all have.
fn details(header: &Header, payload: &[u8]) -> String {
    let Header {
        channel,
        message,
        offset,
        length,
        slot,
        ..
    } = header;
    match header.kind {
        Kind::Hello | Kind::Welcome | Kind::Confirm => match body::Setup::from_bytes(payload) {
            Some(setup) => format!(
                " connection {:08x} > {:08x} job {:016x} incarnation {:x} > {:x}",
                header.from_connection,
                header.to_connection,
                setup.job_id,
                setup.initiator_incarnation,
                setup.responder_incarnation
            ),
            None => " with a payload that breaks the format".into(),
        },
        Kind::Data | Kind::Body => {
            format!(
                " ch {channel} msg {message} bytes {offset}+{} of {length}",
                payload.len()
            )
        }
        Kind::Rts => format!(" ch {channel} msg {message} of {length}"),
        Kind::Cts => format!(" msg {message}"),
        Kind::Fin => match code(*length, FinStatus::from_number) {
            Some(FinStatus::Ok) => format!(" msg {message} to {offset} ok"),
            Some(status) => format!(" msg {message} {status} ({offset})"),
            None => String::new(),
        },
        Kind::Put | Kind::Get | Kind::Atomic => {
            format!(" window {channel} op {message} slot {slot} bytes {offset}+{length}")
        }
        Kind::Answer => match code(*length, RmaStatus::from_number) {
            Some(status) => format!(" window {channel} op {message} slot {slot} {status}"),
            None => String::new(),
        },
        Kind::Ack => match body::AckBody::from_bytes(payload) {
            Some(ack) => format!(
                " beyond {} held {} ns{}",
                ack.selective
                    .iter()
                    .map(|word| word.count_ones())
                    .sum::<u32>(),
                ack.delay_ns,
                refusing(&ack)
            ),
            None => String::new(),
        },
        Kind::Nak => match code(*length, NakReason::from_number) {
            Some(reason) => format!(" msg {message} {reason}"),
            None => String::new(),
        },
        Kind::Refuse => match code(*length, RefuseReason::from_number) {
            Some(RefuseReason::Version) => {
                let (refused, spoken) = versions_of_detail(*offset);
                format!(" version {refused}, {spoken} is spoken")
            }
            Some(reason) => format!(" {reason}"),
            None => String::new(),
        },
        Kind::Probe | Kind::ProbeAnswer => format!(" probe {message}"),
        Kind::Piece => format!(
            " of seq {message} bytes {offset}+{} of {length}",
            payload.len()
        ),
        Kind::Gone => format!(" {}", header.cause()),
        Kind::Close => String::new(),
    }
}

fn refusing(ack: &body::AckBody) -> String {
    let part = |what, from: Option<u32>| {
        from.map_or(String::new(), |from| {
            format!(" refusing {what} from msg {from}")
        })
    };
    part("system", ack.refusing_system) + &part("normal", ack.refusing_normal)
}

fn code<T>(length: u64, from_number: fn(u8) -> Option<T>) -> Option<T> {
    u8::try_from(length).ok().and_then(from_number)
}

fn fields(header: &Header, verdict: Verdict) -> Value {
    json!({
        "kind": header.kind.name(),
        "flags": header.flags.names().collect::<Vec<_>>(),
        "from_port": header.from_port,
        "to_port": header.to_port,
        "from_connection": header.from_connection,
        "to_connection": header.to_connection,
        "channel": header.channel,
        "rail": header.rail,
        "sequence": header.sequence,
        "ack": header.ack,
        "message": header.message,
        "slot": header.slot,
        "offset": header.offset,
        "length": header.length,
        "payload_len": header.payload_len_bytes,
        "check": verdict.name(),
    })
}

/// The time of the day, UTC.
fn clock(time: Duration) -> String {
    let second = time.as_secs() % 86_400;
    format!(
        "{:02}:{:02}:{:02}.{:06}",
        second / 3600,
        second / 60 % 60,
        second % 60,
        time.subsec_micros()
    )
}

#[test]
fn the_clock_shows_the_time_of_day() {
    assert_eq!(
        clock(Duration::from_micros(86_400_000_001)),
        "00:00:00.000001"
    );
    assert_eq!(
        clock(Duration::from_secs(3600 + 2 * 60 + 3)),
        "01:02:03.000000"
    );
}
