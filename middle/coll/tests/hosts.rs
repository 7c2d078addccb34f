//! A team on several hosts: loopback addresses, each with a rendezvous folder of its own, and two members on each.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;

use bcl_bbp::Options;
use bcl_coll::{Atomic, Datum, Function, Team};
use bcl_reflect::JobKey;

const HOSTS: u16 = 3;
const MEMBERS: u16 = 2 * HOSTS;

fn address(host: u16) -> IpAddr {
    Ipv4Addr::new(127, 0, 5, host as u8 + 1).into()
}

#[test]
fn all_calls_work_between_hosts() {
    let folders: Vec<_> = (0..HOSTS).map(|_| tempfile::tempdir().unwrap()).collect();
    let key = JobKey::random().unwrap();
    let join = |member: u16| {
        let host = member / 2;
        let options = Options::new("team").members(MEMBERS).member(member);
        let options = options
            .folder(folders[usize::from(host)].path())
            .key(key.clone())
            .hosts((0..HOSTS).map(address))
            .address(address(host));
        Team::join(options).unwrap()
    };
    thread::scope(|scope| {
        for member in 0..MEMBERS {
            let join = &join;
            scope.spawn(move || {
                let team = join(member);
                let all = team.everybody().unwrap();
                let sum = Atomic::new(Function::Sum, Datum::U64).unwrap();
                for turn in 0..200_u64 {
                    let root = turn as usize % all.size();
                    let len = if turn % 20 == 0 { 50_000 } else { 100 };
                    let mut data = vec![if all.rank() == root { turn as u8 } else { 0 }; len];
                    all.broadcast(root, &mut data).unwrap();
                    assert!(data.iter().all(|byte| *byte == turn as u8));
                    let mut number = (turn + all.rank() as u64).to_ne_bytes();
                    all.allreduce(sum, &mut number).unwrap();
                    let expected = (0..u64::from(MEMBERS)).map(|rank| turn + rank);
                    assert_eq!(u64::from_ne_bytes(number), expected.sum::<u64>());
                    let mut gathered = [0; MEMBERS as usize];
                    all.allgather(&[member as u8], &mut gathered).unwrap();
                    assert_eq!(gathered, [0, 1, 2, 3, 4, 5]);
                    all.barrier().unwrap();
                }
            });
        }
    });
}
