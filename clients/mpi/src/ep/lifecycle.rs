//! Enabling and closing an endpoint.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use bcl_adi::{Endpoint, Options, Progress, SharedEndpoint};

use super::Ep;
use super::data::{Data, Port};
use crate::abi::*;
use crate::call::{self, Failure};
use crate::lock::Lock;
use crate::object::{Object, of, unknown_command};
use crate::progress::Driver;

/// How long an endpoint that is closed waits for messages to leave whose sends are complete.
const LINGER: Duration = Duration::from_secs(3);

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
        let (addresses, sends, receives, lookers) = self.bound.with(|bound| {
            let bound = std::mem::take(bound);
            (bound.addresses, bound.sends, bound.receives, bound.lookers)
        });
        let addresses = addresses.ok_or_else(|| {
            Failure::new(
                FI_ENOAV,
                "no address vector is bound to the endpoint: fi_ep_bind one first",
            )
        })?;
        if sends.sink.is_none() && self.caps & FI_SEND != 0 && sends.tally.is_none()
            || receives.sink.is_none() && self.caps & FI_RECV != 0 && receives.tally.is_none()
        {
            return Err(Failure::new(
                FI_ENOCQ,
                "no completion queue or counter is bound to the endpoint for its sends, or for its receives",
            ));
        }
        let data = Arc::new(Data {
            port: self.open_port()?,
            addresses,
            sends,
            receives,
            wants_sources: self.caps & FI_SOURCE != 0,
            lookers,
            claims: self.lock(Default::default()),
        });
        for looker in &data.lookers {
            let driver: Arc<dyn Driver> = data.clone();
            looker.add(driver)?;
        }
        self.data
            .set(data)
            .map_err(|_| Failure::new(FI_EOPBADSTATE, "the endpoint is enabled already"))
    }

    fn lock<T>(&self, value: T) -> Lock<T> {
        match self.one_thread {
            // SAFETY: the program's promise, as of the domain.
            true => unsafe { Lock::of_one_thread(value) },
            false => Lock::new(value),
        }
    }

    fn open_port(&self) -> Result<Port, Failure> {
        let address = self.name.0;
        let options = Options {
            node: Some(address.node),
            number: (address.port != 0).then_some(address.port),
            ..Options::default()
        };
        let opened = match self.is_automatic {
            true => SharedEndpoint::open(options, Progress::Automatic).map(Port::LookedAfter),
            false => {
                Endpoint::open(options).map(|endpoint| Port::Alone(Box::new(self.lock(endpoint))))
            }
        };
        opened.map_err(|error| Failure::new(FI_EOTHER, error.to_string()))
    }
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
        let closed = data.port.with(|endpoint| endpoint.close(LINGER));
        closed.map_err(|error| Failure::new(FI_EIO, format!("the {}: {error}", Ep::NAME)))
    })
}
