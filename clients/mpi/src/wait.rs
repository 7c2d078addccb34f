//! How a program waits for a queue or a counter: in calls, at a descriptor, or not at all.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, BorrowedFd, RawFd};

use bcl_os::Fd;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::abi::{
    FI_ENODATA, FI_GETWAIT, FI_GETWAITOBJ, FI_WAIT_FD, FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_YIELD,
};
use crate::call::Failure;
use crate::object::{Object, unknown_command};

/// What a program has asked for.
#[derive(Debug)]
pub enum WaitObject {
    /// It never waits.
    None,
    /// It waits in calls.
    Calls,
    /// It waits there as well, for what is readable exactly while there is something to be had.
    Descriptor(Bell),
}

/// A descriptor that is readable or not, as we say.
#[derive(Debug)]
pub struct Bell {
    event: Fd,
    rings: bool,
}

/// A descriptor that can be made readable.
///
/// # Errors
/// What the kernel says.
pub fn event() -> Result<Fd, Errno> {
    Fd::make(|| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK))
}

/// That the kernel gives no descriptor.
pub fn no_descriptor(errno: Errno) -> Failure {
    Failure::new(
        errno.raw_os_error(),
        format!("no descriptor to wait at can be had: {errno}; raise the limit (ulimit -n)"),
    )
}

impl WaitObject {
    /// Of the kind that an attribute has (`FI_WAIT_...`).
    ///
    /// # Errors
    /// If we do not have that kind, or no descriptor is to be had.
    pub fn new(kind: u32) -> Result<Self, Failure> {
        match kind {
            FI_WAIT_NONE => Ok(Self::None),
            FI_WAIT_UNSPEC | FI_WAIT_YIELD => Ok(Self::Calls),
            FI_WAIT_FD => Ok(Self::Descriptor(Bell {
                event: event().map_err(no_descriptor)?,
                rings: false,
            })),
            _ => Err(Failure::unsupported(format!(
                "wait object {kind} is not there: FI_WAIT_NONE, FI_WAIT_UNSPEC and FI_WAIT_FD are"
            ))),
        }
    }

    /// Says whether there is something to be had.
    #[inline]
    pub fn tell(&mut self, something: bool) {
        if let Self::Descriptor(bell) = self {
            bell.tell(something);
        }
    }

    /// That a call may wait here.
    ///
    /// # Errors
    /// If the program has said that it will not.
    pub fn check(&self, object: &str) -> Result<(), Failure> {
        match self {
            Self::None => Err(Failure::unsupported(format!(
                "the {object} was opened with FI_WAIT_NONE, and so nobody can wait for it: open it with FI_WAIT_UNSPEC"
            ))),
            _ => Ok(()),
        }
    }

    /// `fi_control` of an object that has this: which kind it is, and the descriptor, which `descriptor` makes of the bell's.
    ///
    /// # Errors
    /// If there is no descriptor, or the command is another.
    ///
    /// # Safety
    /// `place` is where the program wants the answer to this command.
    pub unsafe fn control<T: Object>(
        &self,
        command: c_int,
        place: *mut c_void,
        descriptor: impl FnOnce(BorrowedFd<'_>) -> Result<RawFd, Failure>,
    ) -> Result<(), Failure> {
        let kind = match self {
            Self::None => FI_WAIT_NONE,
            Self::Calls => FI_WAIT_UNSPEC,
            Self::Descriptor(_) => FI_WAIT_FD,
        };
        match (command, self) {
            // SAFETY: by the contract.
            (FI_GETWAITOBJ, _) => unsafe { place.cast::<u32>().write(kind) },
            // SAFETY: by the contract.
            (FI_GETWAIT, Self::Descriptor(bell)) => unsafe {
                place.cast::<c_int>().write(descriptor(bell.event.as_fd())?)
            },
            (FI_GETWAIT, _) => {
                let text = format!("the {} has no descriptor: open it with FI_WAIT_FD", T::NAME);
                return Err(Failure::new(FI_ENODATA, text));
            }
            _ => return Err(unknown_command::<T>(command)),
        }
        Ok(())
    }
}

impl Bell {
    fn tell(&mut self, rings: bool) {
        if rings == self.rings {
            return;
        }
        // The count is 0 or 1, so that neither can fail.
        let _ = match rings {
            true => rustix::io::write(&self.event, &1u64.to_ne_bytes()),
            false => rustix::io::read(&self.event, &mut [0; 8]),
        };
        self.rings = rings;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cq::Cq;
    use bcl_os::ready::is_readable;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_descriptor_is_readable_while_there_is_something() {
        let mut wait = WaitObject::new(FI_WAIT_FD).unwrap();
        for something in [false, true, true, false, false, true] {
            wait.tell(something);
            let WaitObject::Descriptor(bell) = &wait else {
                unreachable!()
            };
            assert_eq!(is_readable(bell.event.as_fd()), something);
        }
    }

    #[test]
    fn who_does_not_wait_has_nothing_to_wait_at() {
        let none = WaitObject::new(FI_WAIT_NONE).unwrap();
        assert!(
            none.check("queue")
                .unwrap_err()
                .text
                .contains("FI_WAIT_UNSPEC")
        );
        let itself = |bell: BorrowedFd<'_>| Ok(bell.as_raw_fd());
        let (mut fd, mut kind) = (-1, 99);
        for asked in [FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD] {
            let wait = WaitObject::new(asked).unwrap();
            // SAFETY: places for what is asked.
            let (got, kind_got) = unsafe {
                let got = wait.control::<Cq>(FI_GETWAIT, (&raw mut fd).cast(), itself);
                (
                    got,
                    wait.control::<Cq>(FI_GETWAITOBJ, (&raw mut kind).cast(), itself),
                )
            };
            assert_eq!((kind, kind_got), (asked, Ok(())));
            match asked {
                FI_WAIT_FD => assert!(got.is_ok() && fd >= 0),
                _ => assert_eq!((got.unwrap_err().code, fd), (FI_ENODATA, -1)),
            }
            // SAFETY: a command that writes nothing.
            assert!(unsafe { wait.control::<Cq>(99, std::ptr::null_mut(), itself) }.is_err());
        }
        assert!(WaitObject::new(4).is_err());
    }
}
