//! Which process of a host keeps the region ([REFLECT-8.6]): whoever first writes its name where nobody's is, or that of one that has
//! ended.

use std::sync::Arc;
use std::thread::JoinHandle;

use bcl_os::sync::{AtomicU32, Ordering};
use bcl_os::without_signals;
use bcl_types::Span;

use super::begin::begin;
use super::desk::{Desk, STOP_AND_DRAIN, STOP_AT_ONCE};
use super::now;
use super::writing::ring_anyway;
use crate::error::Error;
use crate::seat::Host;
use crate::segment::Segment;

/// How long the one that keeps the region may not run before others say so.
const SILENCE: Span = Span::from_ms(5000);

/// What is written there: the process in the upper half, how often there was another, and the seat, from 1.
fn word_of(before: u64, seat: u16) -> u64 {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let turn = (before >> 16).wrapping_add(1) & 0xffff;
    u64::from(pid.cast_unsigned()) << 32 | turn << 16 | u64::from(seat + 1)
}

fn seat_of(word: u64) -> Option<u16> {
    (word as u16).checked_sub(1)
}

/// Whether the process that keeps the region runs.
pub fn check(segment: &Segment, name: &str) -> Result<(), Error> {
    let common = segment.common();
    let turned_at = bcl_types::Time(common.turned_at_ns.load(Ordering::Relaxed));
    if now().since(turned_at) <= SILENCE {
        return Ok(());
    }
    let why = match common.keeper.load(Ordering::Relaxed) >> 32 {
        0 => "none of its processes has got a UDP port to send from".to_owned(),
        pid => format!(
            "process {pid}, which sends and receives for all, does not run: continue it, or end it"
        ),
    };
    let name = name.to_owned();
    Err(Error::NotKept { name, why })
}

/// This process's part in it.
#[derive(Debug, Default)]
pub struct Keeping {
    /// Where threads of the program find it.
    pub desk: Arc<Desk>,
    ours: Option<Running>,
}

#[derive(Debug)]
struct Running {
    word: u64,
    stop: Arc<AtomicU32>,
    thread: JoinHandle<()>,
}

impl Keeping {
    /// Sees to it that somebody keeps the region.
    pub fn look(&mut self, host: &Host, segment: &Arc<Segment>) -> Result<(), Error> {
        let keeper = &segment.common().keeper;
        let word = keeper.load(Ordering::Acquire);
        let is_ours = |ours: &Running| ours.word == word && !ours.thread.is_finished();
        if self.ours.as_ref().is_some_and(is_ours) || lives(host, segment, word) {
            return Ok(());
        }
        let seat = host.seat().member;
        let next = word_of(word, seat);
        let exchanged = keeper.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed);
        if exchanged.is_err() {
            return Ok(());
        }
        let started = Running::start(&self.desk, host, segment, next);
        if started.is_err() {
            let _ = keeper.compare_exchange(next, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
        self.ours = Some(started?);
        Ok(())
    }

    /// This process leaves the region. If it keeps it, another of the host goes on; if there is none, it returns when other hosts
    /// have what was written here, or not much later.
    pub fn end(mut self, segment: &Segment) {
        let Some(ours) = self.ours.take() else {
            return;
        };
        let how = match (0..segment.members()).any(|member| segment.is_here(member)) {
            true => STOP_AT_ONCE,
            false => STOP_AND_DRAIN,
        };
        ours.stop.store(how, Ordering::Release);
        ring_anyway(segment);
        let _ = ours.thread.join();
        let keeper = &segment.common().keeper;
        let _ = keeper.compare_exchange(ours.word, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Whether the process that is written down is there.
fn lives(host: &Host, segment: &Segment, word: u64) -> bool {
    let Some(seat) = seat_of(word).filter(|seat| *seat < host.geometry().members) else {
        return false;
    };
    if seat == host.seat().member {
        // Of one that sat here before.
        return false;
    }
    // Those who are members are watched.
    segment.is_here(seat) || !matches!(host.folder().connect_to_seat(host.seat_of(seat)), Ok(None))
}

impl Running {
    fn start(
        desk: &Arc<Desk>,
        host: &Host,
        segment: &Arc<Segment>,
        word: u64,
    ) -> Result<Self, Error> {
        desk.begin(begin(host, segment)?);
        let (desk, segment) = (Arc::clone(desk), Arc::clone(segment));
        let stop = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&stop);
        let turned_at = now().0;
        segment
            .common()
            .turned_at_ns
            .store(turned_at, Ordering::Relaxed);
        let for_nobody = Arc::clone(&desk);
        let body = move || desk.run(&segment, &told);
        let thread = without_signals("bcl-reflect-net", body);
        let thread = thread.map_err(|source| {
            for_nobody.end(false);
            Error::system("starting a thread", source)
        })?;
        Ok(Self { word, stop, thread })
    }
}

/// It stops soon, should nobody have waited for that.
impl Drop for Keeping {
    fn drop(&mut self) {
        if let Some(ours) = &self.ours {
            ours.stop.store(STOP_AT_ONCE, Ordering::Release);
        }
    }
}
