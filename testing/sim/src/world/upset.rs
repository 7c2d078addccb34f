//! What befalls hosts, links and processes.

use std::net::{IpAddr, Ipv4Addr};

use crate::net::{Datagram, HostId, HostSpec, Life as HostLife, LinkSpec};
use crate::oracle::{Seat, Violation};
use crate::party::Party;
use crate::{Upset, World};

use super::seat::{What, host};
use super::turns::Turn;

/// How often it is said that a process has ended: packets may be lost.
const LAST_WORDS: usize = 3;

impl<P: Party> World<P> {
    pub(super) fn upset(&mut self, index: usize) -> Result<(), Violation> {
        let Some((_, upset)) = self.plan.upsets.get(index).cloned() else {
            return Ok(());
        };
        self.say(|_| format!("world: {upset:?}"));
        match upset {
            Upset::Partition(partition) => self.net.set_partition(partition),
            Upset::Cable {
                host: HostId(seat),
                out,
                into,
            } => {
                let [up, down] = self.net.links_of(self.seats[seat].card);
                self.net.set_up(up, out);
                self.net.set_up(down, into);
            }
            Upset::Length {
                host: HostId(seat),
                out,
                into,
            } => self.limit_length(seat, out, into),
            Upset::Stop(HostId(seat)) => self.stop(seat),
            Upset::Continue(HostId(seat)) => return self.proceed(seat),
            Upset::Kill(HostId(seat)) => return self.end_process(seat),
            Upset::Close(HostId(seat)) => return self.close_process(seat),
            Upset::Start(HostId(seat)) => return self.restart(seat),
            Upset::Readdress(HostId(seat)) => self.readdress(seat),
            Upset::Slow {
                host,
                per_datagram_ns,
            } => {
                let spec = HostSpec {
                    per_datagram_ns,
                    ..self.plan.host
                };
                self.net.set_host(host, spec);
            }
            Upset::Weather(faults) => {
                for state in &self.seats {
                    let [up, _] = self.net.links_of(state.card);
                    self.net.set_link(up, self.plan.uplink.with_faults(faults));
                }
            }
        }
        Ok(())
    }

    /// No cable takes more than the plan has for it.
    fn limit_length(&mut self, seat: Seat, out: usize, into: usize) {
        let [up, down] = self.net.links_of(self.seats[seat].card);
        let planned = [self.plan.uplink, self.plan.downlink];
        for (link, (limit, planned)) in [up, down]
            .into_iter()
            .zip([out, into].into_iter().zip(planned))
        {
            let spec = self.net.link(link);
            let longest_bytes = limit.min(planned.longest_bytes);
            self.net.set_link(
                link,
                LinkSpec {
                    longest_bytes,
                    ..spec
                },
            );
        }
    }

    fn stop(&mut self, seat: Seat) {
        if self.net.life(host(seat)) == HostLife::Running {
            self.net
                .set_life(self.now_ns, host(seat), HostLife::Stopped);
        }
    }

    fn proceed(&mut self, seat: Seat) -> Result<(), Violation> {
        if self.net.life(host(seat)) != HostLife::Stopped {
            return Ok(());
        }
        self.net
            .set_life(self.now_ns, host(seat), HostLife::Running);
        let state = &mut self.seats[seat];
        state.since_ns = self.now_ns;
        for deed in std::mem::take(&mut state.deferred) {
            let turn = Turn::Own(seat, state.life, deed);
            self.schedule.add(self.now_ns, turn);
        }
        self.drive(seat)
    }

    /// The process of `seat` is no more, and nobody will tell what became of its operations.
    pub(super) fn end_process(&mut self, seat: Seat) -> Result<(), Violation> {
        self.net.set_life(self.now_ns, host(seat), HostLife::Dead);
        // What the program was told has happened, even if it never looked.
        self.listen(seat)?;
        let state = &mut self.seats[seat];
        let Some(party) = state.party.take() else {
            return Ok(());
        };
        for (to, bytes) in party.last_words() {
            let datagram = Datagram::new(state.address, to, bytes);
            for _ in 0..LAST_WORDS {
                self.net.send(self.now_ns, host(seat), datagram.clone());
            }
        }
        self.ledger.excuse_all(seat, state.life, None);
        let pending = std::mem::take(&mut state.ends);
        for (_, pending) in pending.all() {
            if let What::Window(expected) = pending.what {
                self.windows.abandon(expected)?;
            }
        }
        self.windows.restart(seat);
        state.arriving.clear();
        state.swapping.clear();
        state.deferred.clear();
        state.timer_ns = None;
        state.naps_until_ns = 0;
        state.will_flush = false;
        state.will_look = false;
        state.waits_for_end = false;
        state.closed_ns = None;
        state.since_ns = self.now_ns;
        state.life += 1;
        Ok(())
    }

    fn restart(&mut self, seat: Seat) -> Result<(), Violation> {
        // A process that is still saying good-bye has to make room.
        self.end_process(seat)?;
        self.net
            .set_life(self.now_ns, host(seat), HostLife::Running);
        self.start(seat);
        Ok(())
    }

    fn readdress(&mut self, seat: Seat) {
        let state = &mut self.seats[seat];
        let IpAddr::V4(old) = state.address.ip() else {
            return;
        };
        let ip = Ipv4Addr::from(u32::from(old) + 0x1_0000).into();
        state.address.set_ip(ip);
        let address = state.address;
        self.net.readdress(state.card, ip);
        for state in &mut self.seats {
            if let Some(party) = &mut state.party {
                party.moved(seat, address);
            }
        }
    }
}
