//! The rules of `spec/adi.md` on memory that endpoints expose, on real ports.

use std::thread;
use std::time::{Duration, Instant};

use bcl_adi::{
    Access, Atomic, Completion, Datum, Ended, Error, Function, INJECT_MAX, Memory, OneSided,
    OpError, Progress, Region, SHORT_MAX, SharedEndpoint, What,
};
use bcl_testing::{conformance, contents};
use bcl_types::{Address, Cause};

use crate::party::{Party, completions, open};

const KEY: u64 = 7 << 40;
/// What its owner calls the first byte.
const FIRST: u64 = 1 << 50;

fn region(memory: &mut [u8], access: Access) -> Region {
    Region {
        start: memory.as_mut_ptr() as usize,
        len_bytes: memory.len(),
        first_address: FIRST,
        access,
    }
}

/// # Safety
/// The memory goes after the endpoint does.
unsafe fn expose(owner: &Party, memory: &mut [u8], access: Access) {
    // SAFETY: by the contract.
    assert!(unsafe { owner.endpoint.regions().expose(KEY, region(memory, access)) });
}

fn asked(to: Address, at: usize, what: What, context: u64) -> OneSided {
    OneSided {
        to,
        key: KEY,
        address: FIRST + at as u64,
        what,
        context,
        mark: 0,
        quiet: false,
        injects: false,
    }
}

fn put(bytes: &[u8]) -> What {
    What::Put {
        memory: Memory::to_read(bytes.as_ptr(), bytes.len()),
        data: None,
    }
}

fn get(room: &mut [u8]) -> What {
    What::Get {
        memory: Memory::one(room.as_mut_ptr(), room.len()),
    }
}

/// Begins it, and looks at what comes while there is no room.
fn begin(from: &mut Party, owner: &mut Party, asked: &OneSided) {
    // SAFETY: the callers keep the memory until it has ended.
    while let Err(error) = unsafe { from.endpoint.one_sided(asked.clone()) } {
        assert!(matches!(error, Error::Again { .. }), "{error}");
        from.look();
        owner.look();
    }
}

fn first(from: &mut Party, owner: &mut Party, kind: Ended) -> Completion {
    completions(&mut [from, owner], 0, kind, 1)[0]
}

conformance! {
    /// ADI-8.2, 8.3: of whatever length it is, what is put is there, and what is got was there.
    fn memory_is_written_and_read(world) {
        let mut memory = vec![0; 2_000_000];
        let (mut a, mut b) = (open(world), open(world));
        let to = b.address();
        // SAFETY: it goes after the endpoints do.
        unsafe { expose(&b, &mut memory, Access::GET | Access::PUT) };
        for (number, len) in [0, 1, 40, 4096, SHORT_MAX, SHORT_MAX + 1, 70_000, 1_500_000].into_iter().enumerate() {
            let (at, bytes) = (number * 1000 + 1, contents::bytes(number as u64, len));
            begin(&mut a, &mut b, &asked(to, at, put(&bytes), 5));
            let ended = first(&mut a, &mut b, Ended::Put);
            assert_eq!((ended.context, ended.peer, ended.result), (5, to, Ok(())));
            assert_eq!(ended.len_bytes, len as u64);
            let mut room = vec![0; len];
            begin(&mut a, &mut b, &asked(to, at, get(&mut room), 6));
            let ended = first(&mut a, &mut b, Ended::Get);
            assert_eq!((ended.context, ended.result), (6, Ok(())));
            assert!(room == bytes, "{len} bytes");
        }
    }

    /// ADI-1.5: what was injected may be overwritten at once, although it goes as a body.
    fn an_injected_put_needs_its_memory_no_more(world) {
        let mut memory = vec![0; INJECT_MAX];
        let start = memory.as_ptr();
        let (mut a, mut b) = (open(world), open(world));
        let to = b.address();
        // SAFETY: it goes after the endpoints do.
        unsafe { expose(&b, &mut memory, Access::PUT) };
        for len in [8, SHORT_MAX + 1, INJECT_MAX] {
            let bytes = contents::bytes(len as u64, len);
            let mut given = bytes.clone();
            begin(&mut a, &mut b, &OneSided { injects: true, ..asked(to, 0, put(&given), 5) });
            given.fill(0xee);
            assert_eq!(first(&mut a, &mut b, Ended::Put).result, Ok(()));
            // SAFETY: it is the region, to which nothing is written any more.
            assert!(unsafe { std::slice::from_raw_parts(start, len) } == bytes, "{len} bytes");
        }
        let long = vec![0; INJECT_MAX + 1];
        let refused = OneSided { injects: true, ..asked(to, 0, put(&long), 5) };
        // SAFETY: nothing is read.
        let refused = unsafe { a.endpoint.one_sided(refused) };
        assert!(matches!(refused, Err(Error::InvalidArgument(_))), "{refused:?}");
    }

    /// ADI-7.1: who always has completions of its own to take, for its operations on its own memory end at once, still does what
    /// peers ask for.
    fn who_is_busy_with_itself_serves_others(world) {
        let mut memory = [0; 8];
        let (mut a, mut b) = (open(world), open(world));
        let to = b.address();
        // SAFETY: it goes after the endpoints do.
        unsafe { expose(&b, &mut memory, Access::GET | Access::PUT) };
        let (mut room, mut own) = ([0; 8], [0; 8]);
        begin(&mut a, &mut b, &asked(to, 0, get(&mut room), 1));
        let start = Instant::now();
        while a.ended.is_empty() {
            // SAFETY: the room goes after the endpoint does.
            unsafe { b.endpoint.one_sided(asked(to, 0, get(&mut own), 2)) }.unwrap();
            let before = b.ended.len();
            b.look();
            assert_eq!(b.ended.len(), before + 1, "its own ends at once");
            a.look();
            assert!(start.elapsed() < Duration::from_secs(30), "it is not served");
        }
        assert_eq!(a.ended[0].result, Ok(()));
    }

    /// ADI-8.2: the owner is told of what brings data, once it is there.
    fn the_owner_is_told_of_data(world) {
        let mut memory = vec![0; 300_000];
        let start = memory.as_ptr();
        let (mut a, mut b) = (open(world), open(world));
        let (to, from) = (b.address(), a.address());
        // SAFETY: it goes after the endpoints do.
        unsafe { expose(&b, &mut memory, Access::PUT) };
        for len in [0, 8, 300_000] {
            let bytes = contents::bytes(len as u64, len);
            let memory = Memory::to_read(bytes.as_ptr(), len);
            let what = What::Put { memory, data: Some(!7) };
            begin(&mut a, &mut b, &asked(to, 0, what, 1));
            let told = completions(&mut [&mut a, &mut b], 1, Ended::Written, 1)[0];
            assert_eq!((told.peer, told.data, told.len_bytes), (from, Some(!7), len as u64));
            // SAFETY: as long as that.
            assert!(unsafe { std::slice::from_raw_parts(start, len) } == bytes);
            first(&mut a, &mut b, Ended::Put);
        }
    }

    /// ADI-8.1: what is not permitted ends so and touches nothing, short or long.
    fn what_is_not_permitted_says_why(world) {
        let mut memory = vec![9; 100_000];
        let bytes = vec![1; 90_000];
        let mut room = vec![1; 90_000];
        let (mut a, mut b) = (open(world), open(world));
        let to = b.address();
        for len in [8, 90_000] {
            let refused = |a: &mut Party, b: &mut Party, at, what, kind| {
                begin(a, b, &asked(to, at, what, 1));
                first(a, b, kind).result
            };
            let none = Err(OpError::NoWindow);
            assert_eq!(refused(&mut a, &mut b, 0, put(&bytes[..len]), Ended::Put), none);
            assert_eq!(refused(&mut a, &mut b, 0, get(&mut room[..len]), Ended::Get), none);
            // SAFETY: it goes after the endpoints do.
            unsafe { expose(&b, &mut memory, Access::GET) };
            let denied = refused(&mut a, &mut b, 0, put(&bytes[..len]), Ended::Put);
            assert_eq!(denied, Err(OpError::RmaDenied));
            let outside = refused(&mut a, &mut b, 100_001 - len, get(&mut room[..len]), Ended::Get);
            assert_eq!(outside, Err(OpError::RmaRange));
            assert!(b.endpoint.regions().hide(KEY).unwrap().is_over());
        }
        assert!(memory.iter().all(|byte| *byte == 9) && room.iter().all(|byte| *byte == 1));
    }

    /// ADI-8.3, 8.5: many at once, in the order in which they were begun.
    fn many_operations_are_done_in_their_order(world) {
        let mut memory = vec![0; 8];
        let numbers: Vec<[u8; 8]> = (1..=3000u64).map(u64::to_le_bytes).collect();
        let mut rooms = vec![[0; 8]; 3000];
        let (mut a, mut b) = (open(world), open(world));
        let to = b.address();
        // SAFETY: it goes after the endpoints do.
        unsafe { expose(&b, &mut memory, Access::GET | Access::PUT) };
        for (number, room) in numbers.iter().zip(&mut rooms) {
            begin(&mut a, &mut b, &asked(to, 0, put(number), 1));
            begin(&mut a, &mut b, &asked(to, 0, get(room), 2));
        }
        for ended in completions(&mut [&mut a, &mut b], 0, Ended::Get, 3000) {
            assert_eq!(ended.result, Ok(()));
        }
        assert_eq!(rooms, numbers);
    }

    /// ADI-8.4: two requesters lose no change of each other's, and each finds what was there once.
    fn atomic_operations_lose_nothing(world) {
        const EACH: usize = 2000;
        let mut memory = vec![0u64; 1];
        let bytes = memory.as_mut_ptr().cast::<u8>();
        let one = 1u64.to_le_bytes();
        let mut found = [vec![[0; 8]; EACH], vec![[0; 8]; EACH]];
        let (mut a, mut b, mut owner) = (open(world), open(world), open(world));
        let to = owner.address();
        // SAFETY: as long; it goes after the endpoints do.
        unsafe { expose(&owner, std::slice::from_raw_parts_mut(bytes, 8), Access::GET | Access::PUT) };
        let [of_a, of_b] = &mut found;
        for (for_a, for_b) in of_a.iter_mut().zip(of_b) {
            for (who, room) in [(&mut a, for_a), (&mut b, for_b)] {
                let what = What::Atomic {
                    atomic: Atomic::new(Function::Sum, Datum::U64).unwrap(),
                    count: 1,
                    operands: Memory::to_read(one.as_ptr(), 8),
                    compared: Memory::to_read(one.as_ptr(), 0),
                    found: Some(Memory::one(room.as_mut_ptr(), 8)),
                };
                begin(who, &mut owner, &asked(to, 0, what, 1));
            }
        }
        completions(&mut [&mut a, &mut owner], 0, Ended::Atomic, EACH);
        completions(&mut [&mut b, &mut owner], 0, Ended::Atomic, EACH);
        let mut all: Vec<u64> = found.iter().flatten().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        assert!(found.iter().all(|of_one| of_one.is_sorted_by_key(|bytes| u64::from_le_bytes(*bytes))));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..2 * EACH as u64));
    }

    /// ADI-8.6: when the owner goes, what was asked of it ends, short and long.
    fn when_the_owner_goes_all_ends(world) {
        let mut memory = vec![0; 100_000];
        let bytes = vec![0; 100_000];
        let mut room = vec![0; 100_000];
        let (mut a, mut b) = (open(world), open(world));
        let to = b.address();
        // SAFETY: it goes after the endpoints do.
        unsafe { expose(&b, &mut memory, Access::GET | Access::PUT) };
        begin(&mut a, &mut b, &asked(to, 0, put(&bytes[..8]), 0));
        first(&mut a, &mut b, Ended::Put);
        for (context, len) in [8, 100_000].into_iter().enumerate() {
            for what in [put(&bytes[..len]), get(&mut room[..len])] {
                // SAFETY: the memory stays until the end.
                unsafe { a.endpoint.one_sided(asked(to, 0, what, context as u64)) }.unwrap();
            }
        }
        b.endpoint.close(Duration::ZERO).unwrap();
        for kind in [Ended::Put, Ended::Get] {
            for ended in completions(&mut [&mut a], 0, kind, 2) {
                assert_eq!(ended.result, Err(OpError::PeerGone(Cause::Closed)));
            }
        }
    }

    /// ADI-7.1, 8.2: an owner that makes no calls does not keep others from its memory.
    fn an_owner_that_computes_keeps_nobody_waiting(world) {
        let mut memory = contents::bytes(1, 400_000);
        let due = memory.clone();
        let owner = SharedEndpoint::open(world.raw_options(), Progress::Automatic).unwrap();
        let mut a = open(world);
        // SAFETY: it goes after the endpoints do.
        let exposed = owner.with(|owner| unsafe {
            Ok(owner.regions().expose(KEY, region(&mut memory, Access::GET)))
        });
        assert!(exposed.unwrap());
        for len in [8, 400_000] {
            let mut room = vec![0; len];
            // SAFETY: it is waited for.
            unsafe { a.endpoint.one_sided(asked(owner.address(), 0, get(&mut room), 1)) }.unwrap();
            let start = Instant::now();
            while a.ended.is_empty() {
                assert!(start.elapsed() < Duration::from_secs(30), "nobody looks after the owner");
                a.look();
                thread::yield_now();
            }
            assert_eq!(a.ended.pop().unwrap().result, Ok(()));
            assert!(room == due[..len]);
        }
    }
}
