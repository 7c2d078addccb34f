//! Enabling and closing an endpoint.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use bcl_adi::{Address, Endpoint, Error, Options, PeerKeys, Progress, SharedEndpoint};
use bcl_types::LAST_REACHABLE_PORT;

use super::Ep;
use super::bound::{Bound, End};
use super::data::{Data, Port};
use super::refused::failure;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::keys::{self, Keys};
use crate::lock::Lock;
use crate::log::{self, Level};
use crate::name::Name;
use crate::object::{Object, of, unknown_command};
use crate::progress::Driver;

/// After so long it is said for whom an endpoint that is closed waits. It waits on: their sends are complete, so they are not to be lost.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) unsafe extern "C" fn control(
    ep: *mut fid,
    command: c_int,
    _argument: *mut c_void,
) -> c_int {
    // SAFETY: an endpoint of ours, by the contract of the caller.
    let ep: &Ep = unsafe { of(ep) };
    match command {
        FI_ENABLE => call::status("fi_enable", || ep.enable()),
        _ => call::status("fi_control", || Err(unknown_command::<Ep>(command))),
    }
}

impl Ep {
    fn enable(&self) -> Result<(), Failure> {
        if self.data.get().is_some() {
            return Err(Failure::new(
                FI_EOPBADSTATE,
                "the endpoint is enabled already",
            ));
        }
        let peer_keys = self.bound.with(|bound| self.check_bound(bound))?;
        let name = keys::named(self.name)?;
        let port = self.open_port(&name, peer_keys)?;
        let bound = self.bound.with(std::mem::take);
        let addresses = bound.addresses.ok_or_else(no_addresses)?;
        let data = Arc::new(Data {
            port,
            secret: name.secret,
            addresses,
            sends: bound.sends,
            receives: bound.receives,
            reads: bound.reads,
            writes: bound.writes,
            wants_sources: self.caps & FI_SOURCE != 0,
            lookers: bound.lookers,
            claims: self.lock(Default::default()),
            mourned: self.lock(Default::default()),
        });
        for looker in &data.lookers {
            let driver: Arc<dyn Driver> = data.clone();
            looker.add(driver)?;
        }
        self.data
            .set(data)
            .map_err(|_| Failure::new(FI_EOPBADSTATE, "the endpoint is enabled already"))
    }

    /// Whether all is there. What was bound stays, so that a program can bind what is missing and try again.
    fn check_bound(&self, bound: &Bound) -> Result<PeerKeys, Failure> {
        let addresses = bound.addresses.as_ref().ok_or_else(no_addresses)?;
        let ends_nowhere =
            |end: &End, cap| self.caps & cap != 0 && end.sink.is_none() && end.tally.is_none();
        if ends_nowhere(&bound.sends, FI_SEND) || ends_nowhere(&bound.receives, FI_RECV) {
            return Err(Failure::new(
                FI_ENOCQ,
                "no completion queue or counter is bound to the endpoint for its sends, or for its receives",
            ));
        }
        Ok(addresses.peer_keys())
    }

    fn lock<T>(&self, value: T) -> Lock<T> {
        match self.one_thread {
            // SAFETY: the program's promise, as of the domain.
            true => unsafe { Lock::of_one_thread(value) },
            false => Lock::new(value),
        }
    }

    fn open_port(&self, name: &Name, peer_keys: PeerKeys) -> Result<Port, Failure> {
        let Address { node, port } = name.address;
        say_if_out_of_reach(port);
        let keys = Keys::from_env()?;
        let options = Options {
            node: Some(node),
            number: (port != 0).then_some(port),
            // Without a secret the port is as all others of its job, and has no network if the job has no key.
            key: name.secret.map(|_| keys.of(name)),
            peer_keys,
            ..Options::default()
        };
        let opened = match self.is_automatic {
            true => SharedEndpoint::open(options, Progress::Automatic).map(Port::LookedAfter),
            false => {
                Endpoint::open(options).map(|endpoint| Port::Alone(Box::new(self.lock(endpoint))))
            }
        };
        let port = opened.map_err(|error| failure(&error))?;
        let shared = port.with(|endpoint| {
            endpoint.share_regions(Arc::clone(&self.regions));
            Ok(())
        });
        shared.map_err(|error| failure(&error))?;
        Ok(port)
    }
}

/// A server's port may be meant for other nodes, though these do not reach it.
fn say_if_out_of_reach(port: u16) {
    if port > LAST_REACHABLE_PORT {
        let text = format!(
            "fi_enable: port {port} is reached from this node only: others reach 1 to {LAST_REACHABLE_PORT}"
        );
        log::say(Level::Warn, &text);
    }
}

fn no_addresses() -> Failure {
    Failure::new(
        FI_ENOAV,
        "no address vector is bound to the endpoint: fi_ep_bind one first",
    )
}

pub(super) unsafe extern "C" fn close(fid: *mut fid) -> c_int {
    call::status("fi_close", || {
        // SAFETY: from `open`, and good for nobody from now on, by the contract of the caller.
        let ep = unsafe { Box::from_raw(fid.cast::<Ep>()) };
        let Some(data) = ep.data.get() else {
            return Ok(());
        };
        for looker in &data.lookers {
            let driver: Arc<dyn Driver> = data.clone();
            looker.remove(&driver);
        }
        let closed = data.port.with(drain_and_close);
        closed.map_err(|error| Failure::new(FI_EIO, format!("the {}: {error}", Ep::NAME)))
    })
}

/// Messages whose sends are complete leave first, as long as their receivers are there.
fn drain_and_close(endpoint: &mut Endpoint) -> Result<(), Error> {
    let owed = endpoint.drain(Some(PATIENCE)).and_then(|owed| {
        for (to, messages) in &owed {
            let text = format!(
                "closing the endpoint waits for {to}, which has not received {messages} messages whose sends are complete"
            );
            log::say(Level::Warn, &text);
        }
        match owed.is_empty() {
            true => Ok(owed),
            false => endpoint.drain(None),
        }
    });
    endpoint.close(Duration::ZERO)?;
    owed.map(drop)
}
