//! The faults of one host: two programs on the interface that its packets come in by, and a relay for what comes late.
//!
//! XDP loses and corrupts. Its presence makes the other end of the veth cut what it sends into packets, as a wire would
//! want it, and the receiving kernel may still join them again behind it. Where packets are duplicated or held back they
//! are not joined: that happens behind the joining, and is to befall single packets.

use std::io::{Error, Result};

use bcl_netns::run;

use super::bpf::{Map, Plain};
use super::faults::{Faults, Tally};
use super::object;
use super::relay::Relay;
use super::tool::{index_of, number_after};

/// No two packets are joined up to this length; and up to what the kernel takes by itself.
const NOT_JOINED: u32 = 1;
const JOINED: u32 = 65536;

/// The faults of one host: programs at its interface, and a relay.
#[derive(Debug)]
pub(super) struct Injector {
    namespace: String,
    interface: String,
    interface_index: u32,
    backstage: String,
    /// The number of the host: the detours of all may meet in one namespace.
    host: usize,
    xdp: Option<Program>,
    tc: Option<Program>,
    detour: Option<(u32, Relay)>,
}

#[derive(Debug)]
struct Program {
    settings: Map,
    counters: Map,
}

/// `struct settings` of bpf/faults.bpf.c.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Settings {
    seed: u64,
    loss_ppm: u32,
    corruption_ppm: u32,
    duplication_ppm: u32,
    lateness_ppm: u32,
    detour: u32,
    target: u32,
}

/// `struct counters` of bpf/faults.bpf.c.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Counters {
    seen: u64,
    lost: u64,
    corrupted: u64,
    duplicated: u64,
    late: u64,
}

// SAFETY: numbers only, and no padding between or after them.
unsafe impl Plain for Settings {}
// SAFETY: numbers only, and no padding between or after them.
unsafe impl Plain for Counters {}

impl Injector {
    /// That of an interface. Nothing is attached before the first faults are set.
    pub(super) fn new(namespace: &str, interface: &str, backstage: &str, host: usize) -> Self {
        Self {
            namespace: namespace.to_owned(),
            interface: interface.to_owned(),
            interface_index: 0,
            backstage: backstage.to_owned(),
            host,
            xdp: None,
            tc: None,
            detour: None,
        }
    }

    /// Attaches what is needed and not there yet, and sets the rates.
    ///
    /// # Errors
    /// When the program cannot be compiled or attached.
    pub(super) fn set(&mut self, faults: &Faults) -> Result<()> {
        if self.xdp.is_none() {
            self.interface_index = index_of(&self.namespace, &self.interface)?;
            self.xdp = Some(Program::of(self.attach_xdp()?)?);
        }
        if faults.need_tc() && self.tc.is_none() {
            self.detour = Some(self.make_detour()?);
            self.tc = Some(Program::of(self.attach_tc(&self.interface, "tc")?)?);
        }
        let joined = if faults.need_tc() { NOT_JOINED } else { JOINED };
        self.link(&self.interface, &format!("gro_max_size {joined}"))?;
        if let Some((_, relay)) = &self.detour {
            relay.set(faults);
        }
        let settings = Settings {
            seed: faults.seed,
            loss_ppm: faults.loss_ppm,
            corruption_ppm: faults.corruption_ppm,
            duplication_ppm: faults.duplication_ppm,
            lateness_ppm: faults.lateness_ppm,
            detour: self.detour.as_ref().map_or(0, |(index, _)| *index),
            target: self.interface_index,
        };
        for program in [&self.xdp, &self.tc].into_iter().flatten() {
            program.settings.write(&settings)?;
        }
        Ok(())
    }

    /// What both programs have counted.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn tally(&self) -> Result<Tally> {
        let mut tally = Tally::default();
        if let Some(xdp) = &self.xdp {
            let counters: Counters = xdp.counters.read()?;
            tally.seen = counters.seen;
            tally.lost = counters.lost;
            tally.corrupted = counters.corrupted;
        }
        if let Some(tc) = &self.tc {
            let counters: Counters = tc.counters.read()?;
            tally.duplicated = counters.duplicated;
            tally.late = counters.late;
        }
        Ok(tally)
    }

    /// The id of the program.
    fn attach_xdp(&self) -> Result<u32> {
        let object = object::path()?;
        self.link(
            &self.interface,
            &format!("xdp obj {} sec xdp.frags", object.display()),
        )?;
        let shown = run(&format!(
            "ip -n {} -d link show dev {}",
            self.namespace, self.interface
        ))?;
        shown_id(&shown)
    }

    /// The id of the program.
    fn attach_tc(&self, interface: &str, section: &str) -> Result<u32> {
        let object = object::path()?;
        let on = format!("tc -n {}", self.namespace);
        run(&format!("{on} qdisc add dev {interface} clsact"))?;
        run(&format!(
            "{on} filter add dev {interface} ingress bpf direct-action obj {} sec {section}",
            object.display()
        ))?;
        shown_id(&run(&format!("{on} filter show dev {interface} ingress"))?)
    }

    /// A cable to a relay backstage, from which late packets come back.
    fn make_detour(&self) -> Result<(u32, Relay)> {
        let (namespace, backstage) = (&self.namespace, &self.backstage);
        let [detour, hold] = ["detour", "hold"].map(|name| format!("{name}{}", self.host));
        run(&format!(
            "ip link add {detour} netns {namespace} type veth peer name {hold} netns {backstage}"
        ))?;
        // As long as can be, for an interface does not tell its detour when its own limit changes.
        run(&format!(
            "ip -n {backstage} link set dev {hold} mtu 65535 up"
        ))?;
        self.link(&detour, "mtu 65535 arp off up")?;
        let back = self.attach_tc(&detour, "tc/back")?;
        Map::of_program(back, "settings")?.write(&Settings {
            target: self.interface_index,
            ..Settings::default()
        })?;
        let relay = Relay::start(backstage, index_of(backstage, &hold)?)?;
        Ok((index_of(namespace, &detour)?, relay))
    }

    fn link(&self, interface: &str, what: &str) -> Result<()> {
        let namespace = &self.namespace;
        run(&format!(
            "ip -n {namespace} link set dev {interface} {what}"
        ))
        .map(drop)
    }
}

impl Program {
    fn of(id: u32) -> Result<Self> {
        Ok(Self {
            settings: Map::of_program(id, "settings")?,
            counters: Map::of_program(id, "counters")?,
        })
    }
}

/// The id of the program that `ip` or `tc` shows.
fn shown_id(text: &str) -> Result<u32> {
    number_after(text, " id ")
        .ok_or_else(|| Error::other(format!("no program is shown in '{text}'")))
}
