//! Windows that the program at the interface serves: peers of other hosts need no process there, nor those of the own node
//! that have mapped them.

use bcl_observe::Counter;
use bcl_testing::peer::Peer;

use crate::lab::{ALL, Lab, Tiers, meet};

const GET: u32 = 1;
/// What a word holds that nobody has written.
const UNTOUCHED: u64 = 0xffff_ffff << 32;

/// The interface program's counter, together for all ports of a host.
fn counted(lab: &Lab, host: usize, name: &str) -> u64 {
    lab.agents[&host].status().counters[name]
}

/// Two that have met, of which the second has so many words in window 1; by native and generic programs.
fn each(count: usize, access: u32, test: impl Fn(&Lab, &mut Peer, &mut Peer)) {
    for tiers in [Tiers::Xdp, Tiers::Generic] {
        let Some(lab) = Lab::of_two(tiers) else {
            return;
        };
        let (mut one, mut other) = lab.pair_with_window(count, access);
        test(&lab, &mut one, &mut other);
    }
}

#[test]
fn a_process_that_is_stopped_is_written_to_read_and_counted_with() {
    each(100_001, ALL, |lab, one, other| {
        let to = other.address;
        other.stop();
        assert_eq!(one.ask(&format!("write {to} 1 100000")), "100000");
        assert_eq!(one.ask(&format!("read {to} 1 100000")), "299998");
        assert_eq!(one.ask(&format!("add {to} 1 1000")), "1000");
        assert!(counted(lab, 1, "placed") >= 101_000);
        other.signal(libc::SIGCONT);
        assert_eq!(other.ask("word 1 0"), "1001 1 99999");
    });
}

#[test]
fn who_serves_which_windows_is_shown() {
    each(10, GET, |lab, one, other| {
        assert!(
            one.ask("copy")
                .contains("serves its windows on DMA buffers"),
            "{}",
            one.ask("copy")
        );
        // A vector is not memory that can be handed over.
        other.tell("bind 2 2 normal");
        let shown = lab.stat(1, other);
        let windows = [Counter::WindowsBound, Counter::WindowsByInterface];
        assert_eq!(windows.map(|counter| shown.read(counter)), [2, 1]);
        other.ask("word 1 0");
        assert_eq!(windows.map(|counter| shown.read(counter)), [1, 0]);
    });
}

#[test]
fn what_is_not_permitted_or_outside_is_refused() {
    each(1000, GET, |_, one, other| {
        let to = other.address;
        other.stop();
        assert_eq!(one.ask(&format!("write {to} 1 3")), "0 [RmaDenied]");
        assert_eq!(one.ask(&format!("add {to} 1 3")), "0 [RmaDenied]");
        assert_eq!(
            one.ask(&format!("read {to} 1 100")),
            (UNTOUCHED + 99).to_string()
        );
        assert!(one.ask(&format!("read {to} 1 1001")).contains("RmaRange"));
        other.signal(libc::SIGCONT);
        assert_eq!(one.ask(&format!("write {to} 2 3")), "0 [NoWindow]");
        assert_eq!(other.ask("word 1 0"), format!("{UNTOUCHED} 1000 0"));
    });
}

/// Each operation succeeds or is told that there is no window, and memory that was unbound does not change any more.
#[test]
fn a_window_that_is_unbound_and_bound_under_puts() {
    each(1000, ALL, |_, one, other| {
        let to = other.address;
        for _ in 0..10 {
            one.order(&format!("write {to} 1 1000"));
            std::thread::yield_now();
            let before = other.ask("word 1 0");
            other.tell(&format!("words 1 1000 {ALL}"));
            let ended = one.line();
            assert!(ended == "1000" || ended.ends_with("[NoWindow]"), "{ended}");
            let counts: Vec<u64> = before
                .split(' ')
                .map(|count| count.parse().expect("a number"))
                .collect();
            assert_eq!((counts.len(), counts[1] + counts[2]), (3, 1000), "{before}");
        }
        assert_eq!(one.ask(&format!("write {to} 1 1000")), "1000");
        assert_eq!(other.ask("word 1 0"), "1 0 1000");
    });
}

/// SEM-6.5: a peer of the owner's node maps what the interface program writes to, and the kernel reads what it may not map.
#[test]
fn peers_of_the_node_use_the_same_memory() {
    each(1000, ALL, |lab, one, other| {
        let to = other.address;
        other.tell(&format!("words 2 1000 {GET}"));
        let mut neighbour = lab.command(1, &["obey"]);
        neighbour.env("BCL_DEVICE", "shm");
        let mut neighbour = Peer::spawn(neighbour);
        meet(&mut neighbour, other);
        for window in [1, 2] {
            neighbour.ask(&format!("read {to} {window} 1"));
        }
        other.stop();
        assert_eq!(neighbour.ask(&format!("add {to} 1 500")), "500");
        assert_eq!(one.ask(&format!("add {to} 1 500")), "500");
        assert_eq!(
            neighbour.ask(&format!("read {to} 1 1")),
            (UNTOUCHED + 1000).to_string()
        );
        for reader in [&mut neighbour, &mut *one] {
            assert_eq!(
                reader.ask(&format!("read {to} 2 1000")),
                (UNTOUCHED + 999).to_string()
            );
        }
        assert_eq!(neighbour.ask(&format!("write {to} 2 1")), "0 [RmaDenied]");
        other.signal(libc::SIGCONT);
        assert_eq!(other.ask("word 1 0"), format!("{} 999 0", UNTOUCHED + 1000));
    });
}

/// The agent ends, in the midst of operations, or is not there when a window is bound and unbound.
#[test]
fn windows_do_without_the_agent() {
    let Some(mut lab) = Lab::of_two(Tiers::Xdp) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    let to = other.address;
    other.tell(&format!("words 1 1000 {ALL}"));
    one.order(&format!("write {to} 1 1000"));
    lab.agents.get_mut(&1).expect("it has one").kill();
    assert_eq!(one.line(), "1000");
    other.stop();
    assert_eq!(one.ask(&format!("write {to} 1 1000")), "1000");
    other.signal(libc::SIGCONT);
    assert_eq!(other.ask("word 1 0"), "1 0 1000");
    assert_eq!(one.ask(&format!("write {to} 1 3")), "0 [NoWindow]");
    // The process serves it.
    other.tell(&format!("words 1 1000 {ALL}"));
    assert_eq!(one.ask(&format!("write {to} 1 1000")), "1000");
    lab.agents.get_mut(&1).expect("it has one").start();
    assert_eq!(other.ask("word 1 0"), "1 0 1000");
    other.ask("serve 1000");
    other.tell(&format!("words 1 1000 {ALL}"));
    one.ask(&format!("read {to} 1 1"));
    other.ask("serve 100");
    other.stop();
    assert_eq!(one.ask(&format!("write {to} 1 1000")), "1000");
    other.signal(libc::SIGCONT);
    assert_eq!(other.ask("word 1 0"), "1 0 1000");
}
