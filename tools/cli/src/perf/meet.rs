//! How the two processes of a measurement find each other.

use std::time::{Duration, Instant};

use bcl::{Address, CopyMode, Device, Event, JobKey, Port, PortOptions, Which};
use bcl_launch::{RemoteProcess, allowed_cores};

use super::arguments::{Copy, Hosts, Options, Wait};
use super::endpoint::{Endpoint, Word};
use super::netns::{self, There};
use crate::cores;
use crate::failure::{Failure, Result};
use crate::spawn::Partner;

/// How often to look whether a partner that has not come yet is still alive.
const LOOK: Duration = Duration::from_millis(50);

/// A partner that is to stop itself does so within this.
const STOPS_WITHIN: Duration = Duration::from_secs(5);

/// The measuring end and the process at the other one.
pub struct Met {
    pub end: Endpoint,
    pub partner: Watched,
    /// Where the partner is, if that was made for it.
    pub there: Option<There>,
}

/// The partner, wherever it runs.
pub enum Watched {
    Here(Partner),
    There(RemoteProcess),
}

impl Watched {
    /// What the partner has to say about a failure, if it has failed first.
    pub fn explain(&self, failure: Failure) -> Failure {
        let who = match self {
            Self::Here(partner) => format!("partner process {}", partner.pid()),
            Self::There(partner) => format!("partner on host {}", partner.host()),
        };
        Failure {
            text: format!("{} ({who})", failure.text),
            ..failure
        }
    }

    /// Waits until it has stopped itself.
    pub fn await_stop(&mut self) -> Result<()> {
        let deadline = Instant::now() + STOPS_WITHIN;
        while Instant::now() < deadline {
            match self {
                Self::Here(partner) if partner.is_stopped()? => return Ok(()),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
            if let Some(status) = self.ended()? {
                return Err(never_came(&status));
            }
        }
        Err(Failure::new(format!(
            "the partner process has not stopped itself within {STOPS_WITHIN:?}"
        )))
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<()> {
        match self {
            Self::Here(partner) => partner.resume(),
            Self::There(_) => Ok(()),
        }
    }

    /// How it ended, if it has.
    fn ended(&mut self) -> Result<Option<String>> {
        match self {
            Self::Here(partner) => Ok(partner.ended()?.map(|status| status.to_string())),
            Self::There(partner) => Ok(partner.ended()),
        }
    }
}

/// Opens a port, starts the partner and waits for it.
pub fn as_initiator(options: &Options) -> Result<Met> {
    let cores = Cores::choose(options)?;
    let key = JobKey::random().map_err(|error| Failure::new(error.to_string()))?;
    let mut port = port_options(options).key(key.clone());
    let mut there = None;
    if options.hosts == Some(Hosts::Netns) {
        let (number, other_end) = netns::enter(options.agents())?;
        if let Some(agent) = other_end.agent() {
            // SAFETY: the only other thread waits for signals, and reads no variables.
            unsafe { std::env::set_var("BCL_AGENT", agent) };
        }
        port = port.node(number);
        there = Some(other_end);
    }
    let mut port = port.open()?;
    let mut partner = start_partner(options, port.address(), &key, there.as_ref())?;
    cores.pin_first()?;
    let met = wait_for_partner(&mut port, &mut partner)?;
    let mut end = Endpoint::new(port, met.peer, cores.polling);
    (end.device, end.copy) = (met.device, met.copy);
    Ok(Met {
        end,
        partner,
        there,
    })
}

/// It gets our own arguments, and where we are.
fn start_partner(
    options: &Options,
    own: Address,
    key: &JobKey,
    there: Option<&There>,
) -> Result<Watched> {
    let address = ["--partner".into(), own.to_string().into()];
    let arguments = std::env::args_os().skip(1).chain(address);
    if let Some(host) = &options.host {
        let partner = RemoteProcess::start(host, &options.shell.shell(), arguments, key)?;
        return Ok(Watched::There(partner));
    }
    let partner = Partner::start_with(arguments, key, |command| match there {
        Some(there) => there.adopt(command),
        None => Ok(()),
    })?;
    Ok(Watched::Here(partner))
}

/// The other side of [`as_initiator`].
pub fn as_partner(options: &Options, initiator: Address) -> Result<Endpoint> {
    let cores = Cores::choose(options)?;
    let port = port_options(options).open()?;
    cores.pin_second()?;
    let mut end = Endpoint::new(port, initiator, cores.polling);
    end.say(Word::Hello)?;
    Ok(end)
}

fn port_options(options: &Options) -> PortOptions {
    let mut port = Port::options();
    match options.copy {
        Some(Copy::Auto) => port = port.copy_mode(CopyMode::Auto),
        Some(Copy::Single) => port = port.copy_mode(CopyMode::Single),
        Some(Copy::Stream) => port = port.copy_mode(CopyMode::Stream),
        None => {}
    }
    match options.device.0 {
        // Namespaces share the socket folder, and with it shared memory: that is not what is to be measured.
        None if options.hosts == Some(Hosts::Netns) => port.device(Device::Udp),
        None => port,
        Some(device) => port.device(device),
    }
}

struct Greeting {
    peer: Address,
    device: Option<Device>,
    copy: String,
}

fn wait_for_partner(port: &mut Port, partner: &mut Watched) -> Result<Greeting> {
    // A message comes after the connection that it comes by.
    let mut up = (None, String::new());
    loop {
        match port.wait(Which::Recv, Some(LOOK))? {
            Some(Event::PeerUp { device, copy, .. }) => up = (Some(device), copy),
            Some(Event::Message(message)) => {
                let peer = message.from();
                port.release(message)?;
                let (device, copy) = up;
                return Ok(Greeting { peer, device, copy });
            }
            Some(Event::PeerGone { cause, .. }) => return Err(never_came(&cause.to_string())),
            Some(other) => return Err(super::unexpected(&other)),
            None => {
                if let Some(status) = partner.ended()? {
                    return Err(never_came(&status));
                }
            }
        }
    }
}

fn never_came(why: &str) -> Failure {
    Failure::new(format!(
        "the partner process ended before the measurement began: {why}"
    ))
}

/// Where the two processes run, and whether that lets them poll.
struct Cores {
    pair: Option<[usize; 2]>,
    polling: bool,
}

impl Cores {
    fn choose(options: &Options) -> Result<Self> {
        let pair = match options.pin {
            Some(pair) => Some(pair),
            None => match allowed_cores()?.as_slice() {
                [first, second, ..] => Some([*first, *second]),
                _ => None,
            },
        };
        let polling = match options.wait {
            Wait::Poll => true,
            Wait::Adaptive => false,
            Wait::Auto => pair.is_some_and(|[first, second]| first != second),
        };
        Ok(Self { pair, polling })
    }

    /// Pins this thread only: the library's background thread goes where there is room.
    fn pin_first(&self) -> Result<()> {
        self.pair.map_or(Ok(()), |[first, _]| cores::pin(first))
    }

    fn pin_second(&self) -> Result<()> {
        self.pair.map_or(Ok(()), |[_, second]| cores::pin(second))
    }
}
