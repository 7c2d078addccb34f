use proptest::prelude::*;

use super::regions::{Region, RegionError, Regions};
use crate::abi::{FI_MR_BASIC, FI_MR_SCALABLE, FI_REMOTE_READ, FI_REMOTE_WRITE};

fn region(start: usize, len: usize) -> Region {
    Region {
        start,
        len,
        access: FI_REMOTE_READ,
    }
}

#[test]
fn programs_choose_keys_unless_they_leave_it_to_us() {
    for mr_mode in [0, FI_MR_SCALABLE] {
        let mut regions = Regions::new(mr_mode);
        assert_eq!(regions.insert(region(0, 8), 77), Ok(77));
        assert_eq!(
            regions.insert(region(0, 8), 77),
            Err(RegionError::Taken(77))
        );
        regions.remove(77);
        assert_eq!(regions.insert(region(0, 8), 77), Ok(77));
    }
    let mut regions = Regions::new(FI_MR_BASIC);
    let first = regions.insert(region(0, 8), 77).unwrap();
    let second = regions.insert(region(0, 8), 77).unwrap();
    assert_ne!(first, second);
    regions.remove(second);
    assert_ne!(
        regions.insert(region(0, 8), 0),
        Ok(second),
        "a key is nobody's after its region"
    );
}

#[test]
fn only_what_was_permitted_is_reached() {
    let mut regions = Regions::new(0);
    regions.insert(region(0x1000, 16), 5).unwrap();
    assert_eq!(regions.locate(5, 0, 16, FI_REMOTE_READ), Ok(0x1000));
    assert_eq!(
        regions.locate(5, 0, 16, FI_REMOTE_WRITE),
        Err(RegionError::Denied(5))
    );
    assert_eq!(
        regions.locate(5, 0, 1, FI_REMOTE_READ | FI_REMOTE_WRITE),
        Err(RegionError::Denied(5))
    );
    assert_eq!(
        regions.locate(6, 0, 1, FI_REMOTE_READ),
        Err(RegionError::NoKey(6))
    );
    regions.remove(5);
    assert_eq!(
        regions.locate(5, 0, 16, FI_REMOTE_READ),
        Err(RegionError::NoKey(5))
    );
}

#[test]
fn all_of_memory_can_be_a_region() {
    let mut regions = Regions::new(0);
    regions.insert(region(0, usize::MAX), 0).unwrap();
    assert_eq!(
        regions.locate(0, 0x7000_0000_0000, 4096, FI_REMOTE_READ),
        Ok(0x7000_0000_0000)
    );
    assert!(regions.locate(0, u64::MAX, 1, FI_REMOTE_READ).is_err());
}

proptest! {
    /// Whatever somebody names, nothing outside of the region is reached, and all inside is.
    #[test]
    fn nothing_outside_is_reached(
        by_address: bool,
        start in 0usize..64,
        len in 0usize..64,
        address in prop_oneof![0u64..160, any::<u64>()],
        wanted in prop_oneof![0usize..80, any::<usize>()],
    ) {
        let mut regions = Regions::new(if by_address { FI_MR_BASIC } else { 0 });
        let key = regions.insert(region(start, len), 1).unwrap();
        let at = u128::from(address) + if by_address { 0 } else { start as u128 };
        let inside = at >= start as u128 && at + wanted as u128 <= (start + len) as u128;
        let expected = if inside { Ok(at as usize) } else { Err(RegionError::Outside(key)) };
        prop_assert_eq!(regions.locate(key, address, wanted, FI_REMOTE_READ), expected);
    }
}
