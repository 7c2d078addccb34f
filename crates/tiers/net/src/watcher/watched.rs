//! How the thread treats one port.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_os::Fd;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::FAREWELL;
use super::pace::Pace;
use crate::station::Station;

/// Time between two looks at a program that is at work on its port.
const TICK: Duration = Duration::from_millis(4);
/// A program that has just slept has been woken by what came, and sees to it: two would be in each other's way. If it computes
/// instead, that is found out after so long.
const SOON: Duration = Duration::from_millis(1);
/// Looks at a program that sleeps before it is left to itself.
const LOOKS_AT_A_SLEEPER: u32 = 64;

/// A port, and what the thread has seen of its program.
pub struct Watched {
    station: Arc<Station>,
    number: u64,
    /// Its sources are in the epoll set. Not while the program polls them: telling the set would cost each packet
    /// 0.2 us, even if no event is asked for.
    is_listening: bool,
    due: Option<Instant>,
    pace: Pace,
    looks_at_sleeper: u32,
    sleeps: u32,
}

impl Watched {
    /// A port whose sources have this number in the epoll set; it is looked at now.
    pub fn new(station: Arc<Station>, number: u64) -> Self {
        let now = Instant::now();
        Self {
            pace: Pace::new(station.visits(), now),
            station,
            number,
            is_listening: false,
            due: Some(now),
            looks_at_sleeper: 0,
            sleeps: 0,
        }
    }

    pub fn is_of(&self, station: &Arc<Station>) -> bool {
        Arc::ptr_eq(&self.station, station)
    }

    /// The process exits.
    pub fn say_goodbye(&self) {
        self.station.close(FAREWELL);
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// When to look next, if no source has packets before.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Something has come up that may be due before what was.
    pub fn look_now(&mut self) {
        self.due = Some(Instant::now());
    }

    /// Does what there is to do, and decides when to look again.
    pub fn look(&mut self, epoll: &Fd, now: Instant) {
        self.due = None;
        let is_at_work = self.pace.is_at_work(self.station.visits(), now);
        if self.station.is_asleep() {
            self.looks_at_sleeper += 1;
            if self.looks_at_sleeper < LOOKS_AT_A_SLEEPER || !self.station.leave_to_sleepers() {
                self.due = Some(now + TICK);
            }
            return;
        }
        self.looks_at_sleeper = 0;
        let sleeps = self.station.sleeps();
        if std::mem::replace(&mut self.sleeps, sleeps) != sleeps {
            return self.keep_away_until(now + SOON, epoll);
        }
        if is_at_work && self.station.has_peers() {
            return self.keep_away_until(now + TICK, epoll);
        }
        self.due = self
            .station
            .stand_in(self.is_listening)
            .map(|timer| now + timer);
        if self.listen(epoll).is_err() {
            self.keep_away_until(now + TICK, epoll);
        }
    }

    /// Packets are nothing to the thread until then.
    fn keep_away_until(&mut self, due: Instant, epoll: &Fd) {
        self.station.look_soon();
        self.due = Some(due);
        self.stop_listening(epoll);
    }

    /// Has the epoll set tell of the next packet.
    fn listen(&mut self, epoll: &Fd) -> rustix::io::Result<()> {
        let data = EventData::new_u64(self.number);
        let once = EventFlags::IN | EventFlags::ONESHOT;
        if !std::mem::replace(&mut self.is_listening, true) {
            self.station.listen();
        }
        for source in self.station.descriptors() {
            match epoll::modify(epoll, source, data, once) {
                Err(Errno::NOENT) => epoll::add(epoll, source, data, once)?,
                modified => modified?,
            }
        }
        Ok(())
    }

    /// Takes the sources out of the epoll set.
    pub fn stop_listening(&mut self, epoll: &Fd) {
        if std::mem::take(&mut self.is_listening) {
            self.station.stop_listening();
            for source in self.station.all_descriptors() {
                // One that is not in the set need not be taken out.
                let _ = epoll::delete(epoll, source);
            }
        }
    }
}
