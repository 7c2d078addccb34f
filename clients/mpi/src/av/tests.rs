use std::collections::BTreeMap;

use bcl_types::Address;
use proptest::prelude::*;

use super::table::{Table, TableError};
use crate::name::{Name, NotAName};

fn name(port: u16) -> Name {
    Name(Address {
        node: 0x0a00_0001.into(),
        port,
    })
}

proptest! {
    /// The table holds what a plain map holds, and gives out the lowest index that is free.
    #[test]
    fn a_table_is_a_map(steps in prop::collection::vec((any::<bool>(), 1u16..20), 0..60)) {
        let (mut table, mut model) = (Table::default(), BTreeMap::new());
        for (inserts, number) in steps {
            if inserts {
                let lowest = (0..).find(|index| !model.contains_key(index)).unwrap();
                prop_assert_eq!(table.insert(&name(number).to_bytes()), Ok(lowest));
                model.insert(lowest, name(number).0);
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
        Ok(0),
        "they have taken no index"
    );
    assert_eq!(table.get(u64::MAX), Err(TableError::Absent(u64::MAX)));
}
