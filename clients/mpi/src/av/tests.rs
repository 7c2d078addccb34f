use std::collections::BTreeMap;

use bcl_types::Address;
use proptest::prelude::*;

use super::Av;
use super::table::{Table, TableError};
use crate::abi::{FI_THREAD_SAFE, fi_av_attr};
use crate::keys::Keys;
use crate::lab::{Lab, zeroed};
use crate::name::{Name, NotAName, Secret};
use crate::object::{Object, of};

fn name(port: u16) -> Name {
    Name::open(Address {
        node: 0x0a00_0001.into(),
        port,
    })
}

/// The same with a secret.
fn secret_name(port: u16, secret: u8) -> Name {
    Name {
        secret: Some(Secret([secret; 16])),
        ..name(port)
    }
}

proptest! {
    /// The table holds what a plain map holds, and gives out the lowest index that is free.
    #[test]
    fn a_table_is_a_map(steps in prop::collection::vec((any::<bool>(), 1u16..20), 0..60)) {
        let (mut table, mut model) = (Table::default(), BTreeMap::new());
        for (inserts, number) in steps {
            if inserts {
                let lowest = (0..).find(|index| !model.contains_key(index)).unwrap();
                let name = secret_name(number, 9);
                prop_assert_eq!(table.insert(&name.to_bytes()), Ok((lowest, name)));
                model.insert(lowest, name.address);
            } else {
                let index = u64::from(number);
                prop_assert_eq!(table.remove(index).is_ok(), model.remove(&index).is_some());
            }
            for index in 0..64 {
                let expected = model.get(&index).copied().ok_or(TableError::Absent(index));
                prop_assert_eq!(table.get(index), expected);
            }
        }
    }
}

#[test]
fn what_is_no_name_does_not_come_in() {
    let mut table = Table::default();
    let mut cut = name(7).to_bytes();
    cut[20..].fill(0);
    assert_eq!(
        table.insert(&cut),
        Err(TableError::NotAName(NotAName::Damaged))
    );
    assert_eq!(
        table.insert(&[0; Name::LEN]),
        Err(TableError::NotAName(NotAName::Foreign))
    );
    assert_eq!(
        table.insert(&name(0).to_bytes()),
        Err(TableError::NoPort(name(0)))
    );
    assert_eq!(
        table.insert(&name(7).to_bytes()),
        Ok((0, name(7))),
        "they have taken no index"
    );
    assert_eq!(table.get(u64::MAX), Err(TableError::Absent(u64::MAX)));
}

/// What is left of the same address, by which it is still reached.
#[test]
fn an_address_is_there_until_the_last_of_its_names_is_gone() {
    let mut table = Table::default();
    for secret in 1..=3 {
        table.insert(&secret_name(7, secret).to_bytes()).unwrap();
    }
    assert_eq!(table.remove(1), Ok(Some(secret_name(7, 1))));
    assert_eq!(table.remove(0), Ok(Some(secret_name(7, 3))));
    assert_eq!(table.name(2), Ok(secret_name(7, 3)));
    assert_eq!(table.remove(2), Ok(None));
}

/// Of two names of an address the later counts, then the one that is left.
#[test]
fn a_vector_says_whose_key_is_which() {
    let lab = Lab::new(FI_THREAD_SAFE);
    let mut attr: fi_av_attr = zeroed();
    let mut place = std::ptr::null_mut();
    // SAFETY: a domain, attributes, and a place for the result.
    unsafe {
        assert_eq!(
            super::open(
                lab.domain,
                &raw mut attr,
                &raw mut place,
                std::ptr::null_mut()
            ),
            0
        )
    };
    {
        // SAFETY: it was opened above.
        let av: &Av = unsafe { of(place) };
        let (keys, peer_keys) = (Keys::from_env().unwrap(), av.addresses().peer_keys());
        let known = || Some(peer_keys.get(name(7).address)?.to_hex());
        let key = |secret| Some(keys.of(&secret_name(7, secret)).to_hex());
        for secret in [1, 2] {
            av.insert(&secret_name(7, secret).to_bytes()).unwrap();
            assert_eq!(known(), key(secret));
        }
        av.remove(1).unwrap();
        assert_eq!(known(), key(1));
        av.insert(&name(7).to_bytes()).unwrap();
        assert_eq!(known(), Some(keys.of(&name(7)).to_hex()));
        for index in [0, 1] {
            av.remove(index).unwrap();
        }
        assert_eq!(known(), None);
    }
    // SAFETY: nobody uses it any more.
    unsafe { assert_eq!((Av::ops().close.unwrap())(place.cast()), 0) };
}
