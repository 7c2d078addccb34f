//! Sleeping: no message is left lying before a sleeper. A lost wake-up is a deadlock here, which loom
//! reports.
//!
//! The fence that a sleeper makes for others is a fence of both here: membarrier puts one into the
//! sender's program at an unknown point between publishing and looking, or outside, where none is
//! needed; to look only after a fence of one's own is the weakest of these.

use bcl_os::sleep::{Ringer, Sleeper};
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};
use bcl_rings::cells::CellReceiver;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::memory::{Direction, number_of, numbered};

/// A pipe: once rung it is readable until silenced.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    change: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().expect("a model's mutex") = true;
        self.change.notify_one();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().expect("a model's mutex");
        while !*rung {
            rung = self.change.wait(rung).expect("a model's mutex");
        }
    }

    fn silence(&self) {
        *self.rung.lock().expect("a model's mutex") = false;
    }
}

/// What a port shows to its peers.
#[derive(Default)]
struct Page {
    epoch: AtomicU64,
    wish: AtomicU32,
    bell: Bell,
}

/// Sleeps until `ready`, in the order of a port's wait.
fn sleep_until(page: &Page, sleeper: &mut Sleeper, mut ready: impl FnMut() -> bool) {
    while !ready() {
        sleeper.fall_asleep(&page.epoch);
        let found = ready();
        if !found {
            page.bell.wait();
        }
        sleeper.awake(&page.epoch);
        page.bell.silence();
        if found {
            return;
        }
    }
}

fn receive_asleep(page: &Page, sleeper: &mut Sleeper, cells: &mut CellReceiver) -> u64 {
    let mut taken = None;
    sleep_until(page, sleeper, || {
        taken = taken.or_else(|| cells.receive());
        taken.is_some()
    });
    number_of(&taken.expect("slept until there was one"))
}

#[test]
fn no_cell_is_left_before_a_sleeper() {
    loom::model(|| {
        let shared = Direction::new(2, 0);
        let page = Arc::new(Page::default());
        let (peer, peer_page) = (shared.clone(), page.clone());
        let sender = thread::spawn(move || {
            let mut cells = peer.cell_sender();
            let mut ringer = Ringer::new(true);
            for number in 1..=2 {
                cells.send(&numbered(number));
                if ringer.after_cells(&peer_page.epoch) {
                    peer_page.bell.ring();
                }
            }
        });
        let mut cells = shared.cell_receiver();
        let mut sleeper = Sleeper::default();
        for number in 1..=2 {
            assert_eq!(receive_asleep(&page, &mut sleeper, &mut cells), number);
        }
        sender.join().expect("the sender's thread");
    });
}

/// Two senders ring one bell; that one has been rung for must not hide the other.
#[test]
fn two_senders_do_not_hide_each_other() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let page = Arc::new(Page::default());
        let directions = [Direction::new(1, 0), Direction::new(1, 0)];
        let senders = directions.clone().map(|peer| {
            let page = page.clone();
            thread::spawn(move || {
                peer.cell_sender().send(&numbered(1));
                if Ringer::new(true).after_cells(&page.epoch) {
                    page.bell.ring();
                }
            })
        });
        let mut sleeper = Sleeper::default();
        let mut receivers = directions.each_ref().map(|shared| shared.cell_receiver());
        let mut arrived = 0;
        while arrived < 2 {
            sleep_until(&page, &mut sleeper, || {
                let before = arrived;
                arrived += receivers
                    .iter_mut()
                    .filter_map(CellReceiver::receive)
                    .count();
                arrived > before
            });
        }
        for sender in senders {
            sender.join().expect("a sender's thread");
        }
    });
}

/// A sleeper that waits for room, or for its message to be handled, wishes to hear of the return line.
#[test]
fn no_return_is_left_before_a_sleeper_that_wished_for_it() {
    loom::model(|| {
        let shared = Direction::new(1, 0);
        let page = Arc::new(Page::default());
        let (peer, peer_page) = (shared.clone(), page.clone());
        let mut cells = shared.cell_sender();
        cells.send(&numbered(1));
        let receiver = thread::spawn(move || {
            let mut ringer = Ringer::new(true);
            peer.cell_receiver().receive().expect("it was sent before");
            if ringer.after_returns(&peer_page.epoch, &peer_page.wish) {
                peer_page.bell.ring();
            }
        });
        let mut sleeper = Sleeper::default();
        page.wish.store(1, Ordering::Relaxed);
        sleep_until(&page, &mut sleeper, || {
            cells.free(1).expect("a correct peer") > 0
        });
        cells.send(&numbered(2));
        receiver.join().expect("the receiver's thread");
    });
}
