use bcl_types::Refusal;
use proptest::prelude::*;

use super::one_sided::{At, OneSided};
use super::*;
use crate::atomics::{Atomic, Datum, Function};

fn announced() -> impl Strategy<Value = (u64, Comes)> {
    prop_oneof![
        (any::<u64>(), Just(Comes::Unasked)),
        (any::<u64>(), Just(Comes::AsBody)),
        (0..=EAGER_MAX as u64, Just(Comes::AsData)),
    ]
}

fn one_sided() -> impl Strategy<Value = OneSided> {
    let at = || (any::<u64>(), any::<u64>()).prop_map(|(key, address)| At { key, address });
    let data = || prop::option::of(any::<u64>());
    let comes = || prop_oneof![Just(Comes::Unasked), Just(Comes::AsBody)];
    let atomic = (0..Function::ALL.len(), 0..Datum::ALL.len())
        .prop_filter_map("defined", |(f, d)| {
            Atomic::new(Function::ALL[f], Datum::ALL[d])
        });
    let why = || {
        prop_oneof![
            Just(Refusal::Denied),
            Just(Refusal::Range),
            Just(Refusal::NoWindow)
        ]
    };
    prop_oneof![
        (at(), data()).prop_map(|(at, data)| OneSided::Put { at, data }),
        (at(), any::<u64>()).prop_map(|(at, len_bytes)| OneSided::Get { at, len_bytes }),
        (at(), atomic, any::<u32>(), any::<bool>()).prop_map(|(at, atomic, count, fetches)| {
            OneSided::Atomic {
                at,
                atomic,
                count,
                fetches,
            }
        }),
        (at(), data(), any::<u64>(), any::<u64>(), comes()).prop_map(
            |(at, data, len_bytes, name, comes)| {
                OneSided::Write {
                    at,
                    data,
                    len_bytes,
                    name,
                    comes,
                }
            }
        ),
        any::<u64>().prop_map(|count| OneSided::Done { count }),
        Just(OneSided::Value),
        (any::<u64>(), any::<u64>(), comes()).prop_map(|(len_bytes, name, comes)| OneSided::Body {
            len_bytes,
            name,
            comes
        }),
        why().prop_map(|why| OneSided::Refused { why }),
        (any::<u64>(), why()).prop_map(|(name, why)| OneSided::Unwanted { name, why }),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let envelope = || {
        let data = prop::option::of(any::<u64>());
        (0..SPACES as u8, data).prop_map(|(space, data)| Envelope { space, data })
    };
    let kind = prop_oneof![
        envelope().prop_map(Kind::Eager),
        (envelope(), announced(), any::<u64>()).prop_map(|(envelope, (len_bytes, comes), name)| {
            Kind::Rts {
                envelope,
                len_bytes,
                name,
                comes,
            }
        }),
        (any::<u64>(), any::<bool>()).prop_map(|(name, wanted)| Kind::Cts { name, wanted }),
        (any::<u64>(), any::<bool>()).prop_map(|(name, asked)| Kind::Data { name, asked }),
        Just(Kind::Credit),
        one_sided().prop_map(Kind::OneSided),
    ];
    (any::<u32>(), kind).prop_map(|(limit, kind)| Header { limit, kind })
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in header(), payload in prop::collection::vec(any::<u8>(), 0..20)) {
        let mut bytes = [0xff; SYSTEM_MAX];
        let len = header.write(&mut bytes);
        let bare = &bytes[..len];
        prop_assert_eq!(Header::parse(bare), Some((header, &[][..])));
        for short in 0..len {
            prop_assert_eq!(Header::parse(&bare[..short]), None);
        }
        let whole = [bare, &payload].concat();
        let takes_payload = matches!(
            header.kind,
            Kind::Eager(_) | Kind::Data { .. } | Kind::OneSided(OneSided::Put { .. } | OneSided::Atomic { .. } | OneSided::Value)
        );
        let expected = (takes_payload || payload.is_empty()).then_some((header, &payload[..]));
        prop_assert_eq!(Header::parse(&whole), expected);
    }

    /// What is read was written so: no two texts say the same.
    #[test]
    fn what_is_read_is_written_so(mut bytes in prop::collection::vec(any::<u8>(), 8..40), number in 1u8..15) {
        (bytes[0], bytes[1], bytes[3]) = (VERSION, number, 0);
        bytes[2] &= 0xf3;
        if let Some((header, payload)) = Header::parse(&bytes) {
            let mut again = [0; SYSTEM_MAX];
            let len = header.write(&mut again);
            prop_assert_eq!([&again[..len], payload].concat(), bytes);
        }
    }
}
