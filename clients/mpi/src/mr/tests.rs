use super::regions::{Region, RegionError, Regions};
use crate::abi::{FI_MR_BASIC, FI_MR_SCALABLE, FI_RECV, FI_REMOTE_READ};

/// Registers memory that nobody ever reaches.
fn insert(regions: &mut Regions, access: u64, key: u64) -> Result<u64, RegionError> {
    let region = Region {
        start: 0,
        len: 8,
        access,
    };
    // SAFETY: nobody does.
    unsafe { regions.insert(region, key) }
}

#[test]
fn programs_choose_keys_unless_they_leave_it_to_us() {
    for mr_mode in [0, FI_MR_SCALABLE] {
        let mut regions = Regions::new(mr_mode);
        assert_eq!(insert(&mut regions, FI_REMOTE_READ, 77), Ok(77));
        assert_eq!(
            insert(&mut regions, FI_RECV, 77),
            Err(RegionError::Taken(77))
        );
        assert!(regions.hide(77).unwrap().is_over());
        assert_eq!(
            insert(&mut regions, FI_REMOTE_READ, 77),
            Err(RegionError::Taken(77)),
            "until all is over"
        );
        regions.remove(77);
        assert_eq!(insert(&mut regions, FI_REMOTE_READ, 77), Ok(77));
    }
    let mut regions = Regions::new(FI_MR_BASIC);
    let first = insert(&mut regions, FI_REMOTE_READ, 77).unwrap();
    let second = insert(&mut regions, FI_REMOTE_READ, 77).unwrap();
    assert_ne!(first, second);
    regions.remove(second);
    assert_ne!(
        insert(&mut regions, FI_REMOTE_READ, 0),
        Ok(second),
        "a key is nobody's after its region"
    );
}

#[test]
fn only_what_others_may_use_is_exposed() {
    let mut regions = Regions::new(0);
    insert(&mut regions, FI_RECV, 1).unwrap();
    assert!(regions.reached().is_empty() && regions.hide(1).is_none());
    insert(&mut regions, FI_REMOTE_READ, 2).unwrap();
    assert_eq!(regions.reached().len(), 1);
}
