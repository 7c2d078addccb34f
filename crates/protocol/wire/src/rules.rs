//! Which values fields may have, by what the packet says ([WIRE-2.4] to [WIRE-2.14]).

use crate::body::{AckBody, AtomicBody, Setup};
use bcl_types::LONG_SYSTEM_MAX;

use crate::header::{HEADER_LEN, Header, PAYLOAD_MAX, PIECE_UNIT, PUSHED_MAX, READ_MAX, SLOTS};
use crate::kind::{Death, FinStatus, Flags, Kind, NakReason, RefuseReason, RmaStatus};

/// Flags that every packet may have.
const ANY: Flags = Flags::RETRANSMIT.and(Flags::ACK_NOW).and(Flags::DIRECT);
/// Flags of what can be a fragment.
const FRAGMENT: Flags = ANY.and(Flags::FIRST).and(Flags::LAST);

/// The name of a field whose value no such packet has, if there is one.
#[inline]
pub fn broken(header: &Header) -> Option<&'static str> {
    of_all(header).or_else(|| of_kind(header))
}

/// Conditions in pairs with the field that each is about: the first that does not hold.
#[inline]
fn first_broken<const N: usize>(rules: [(bool, &'static str); N]) -> Option<&'static str> {
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, f)| f)
}

#[inline]
fn of_all(header: &Header) -> Option<&'static str> {
    let is_operation = matches!(
        header.kind,
        Kind::Put | Kind::Get | Kind::Atomic | Kind::Answer
    );
    first_broken([
        (header.rail <= 1, "rail"),
        (header.group == 0, "group"),
        (header.from_port != 0, "from_port"),
        (header.to_port != 0, "to_port"),
        (header.is_sequenced() || header.sequence == 0, "sequence"),
        (header.slot < if is_operation { SLOTS } else { 1 }, "slot"),
        (flags_of(header.kind).contains(header.flags), "flags"),
    ])
}

const fn flags_of(kind: Kind) -> Flags {
    match kind {
        Kind::Data => FRAGMENT.and(Flags::UNRELIABLE).and(Flags::IMMEDIATE),
        Kind::Body => FRAGMENT,
        Kind::Put => FRAGMENT.and(Flags::NOTIFY),
        Kind::Get => ANY.and(Flags::PADDED),
        _ => ANY,
    }
}

#[inline]
fn of_kind(header: &Header) -> Option<&'static str> {
    let len = u64::from(header.payload_len_bytes);
    match header.kind {
        Kind::Hello => first_broken([
            (header.to_connection == 0, "to_connection"),
            (len == Setup::LEN as u64, "payload"),
        ]),
        Kind::Welcome | Kind::Confirm => first_broken([(len == Setup::LEN as u64, "payload")]),
        Kind::Data => of_data(header),
        Kind::Body => first_broken([
            (header.channel != 0, "channel"),
            (
                end(header).is_some_and(|end| end <= header.length),
                "offset",
            ),
        ]),
        Kind::Put => first_broken([
            (len > 0 || header.length == 0, "payload"),
            (len <= header.length, "length"),
            (end(header).is_some(), "offset"),
        ]),
        Kind::Get => first_broken([
            (header.length <= READ_MAX.into(), "length"),
            (
                len == if header.flags.contains(Flags::PADDED) {
                    header.length
                } else {
                    0
                },
                "payload",
            ),
        ]),
        Kind::Atomic => first_broken([(len == AtomicBody::LEN as u64, "payload")]),
        Kind::Answer => first_broken([(has_code(header, RmaStatus::from_number), "length")]),
        Kind::Ack => first_broken([(len == 0 || len == AckBody::LEN as u64, "payload")]),
        Kind::Rts => first_broken([(header.channel != 0, "channel"), (len == 0, "payload")]),
        Kind::Cts | Kind::Close => first_broken([(len == 0, "payload")]),
        Kind::Fin => first_broken([
            (has_code(header, FinStatus::from_number), "length"),
            (len == 0, "payload"),
        ]),
        Kind::Nak => first_broken([
            (has_code(header, NakReason::from_number), "length"),
            (len == 0, "payload"),
        ]),
        Kind::Refuse => first_broken([
            (has_code(header, RefuseReason::from_number), "length"),
            (len == 0, "payload"),
        ]),
        Kind::Probe | Kind::ProbeAnswer => None,
        Kind::Piece => of_piece(header),
        Kind::Gone => first_broken([
            (has_code(header, Death::from_number), "length"),
            (header.offset <= u64::from(u8::MAX), "offset"),
            (len == 0, "payload"),
        ]),
    }
}

fn of_piece(header: &Header) -> Option<&'static str> {
    const LENGTHS: core::ops::RangeInclusive<u64> =
        HEADER_LEN as u64..=(HEADER_LEN + PAYLOAD_MAX) as u64;
    const UNIT: u64 = PIECE_UNIT as u64;
    let end = end(header);
    first_broken([
        (LENGTHS.contains(&header.length), "length"),
        (
            header.offset.is_multiple_of(UNIT) && end.is_some_and(|end| end <= header.length),
            "offset",
        ),
        (
            header.payload_len_bytes > 0
                && end.is_some_and(|end| end == header.length || end % UNIT == 0),
            "payload",
        ),
    ])
}

#[inline]
fn of_data(header: &Header) -> Option<&'static str> {
    let ends = Flags::FIRST.and(Flags::LAST);
    let is_whole = header.flags.contains(ends);
    let has_immediate = header.flags.contains(Flags::IMMEDIATE);
    let place = header.place();
    let end = place.checked_add(u64::from(header.payload_len_bytes));
    let expected = match (place == 0, end == Some(header.length)) {
        // A filler ([WIRE-2.5]).
        (true, true) if header.length == 0 && !is_whole && !has_immediate => Flags::NONE,
        (true, true) => ends,
        (true, false) => Flags::FIRST,
        (false, true) => Flags::LAST,
        (false, false) => Flags::NONE,
    };
    let longest = match header.channel {
        0 => LONG_SYSTEM_MAX as u64,
        _ => PUSHED_MAX,
    };
    first_broken([
        (header.length <= longest, "length"),
        (end.is_some_and(|end| end <= header.length), "offset"),
        (
            header.payload_len_bytes > 0 || header.length == 0,
            "payload",
        ),
        (
            header.flags.common(ends) == expected
                && (is_whole || !header.flags.contains(Flags::UNRELIABLE)),
            "flags",
        ),
    ])
}

/// Where the payload ends in its message or window.
#[inline]
fn end(header: &Header) -> Option<u64> {
    header
        .offset
        .checked_add(u64::from(header.payload_len_bytes))
}

/// Whether the field `length` holds a reason or status that exists.
#[inline]
fn has_code<T>(header: &Header, from_number: fn(u8) -> Option<T>) -> bool {
    u8::try_from(header.length).is_ok_and(|number| from_number(number).is_some())
}
