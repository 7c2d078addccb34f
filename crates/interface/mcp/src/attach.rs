//! The interface program on an interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

use crate::error::{Doing, Error};
use crate::netlink::{self, Interface, OnInterface};
use crate::occupant::Occupant;
use crate::{pins, sys};

// Flags of <linux/if_link.h>.
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;

/// How the kernel runs the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In the interface's driver, before anything else.
    Native,
    /// Behind the driver, for one that has no place for programs: right, but slower.
    Generic,
}

impl Mode {
    pub(crate) fn of(is_native: bool) -> Self {
        match is_native {
            true => Self::Native,
            false => Self::Generic,
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Native => "native",
            Self::Generic => "generic",
        })
    }
}

/// How the program is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeChoice {
    /// In the driver if it takes programs and sends what they answer, else behind it.
    Auto,
    /// So and not otherwise.
    Only(Mode),
}

/// The kind of interface that takes a program and drops its answers, without telling anybody, unless its other end has
/// a program as well or joins packets (GRO), which can change at any time.
const TAKES_AND_DROPS: &str = "veth";

impl ModeChoice {
    /// What to try on an interface of this kind, and what if that is refused.
    fn modes(self, kind: &str) -> (Mode, Option<Mode>) {
        match self {
            Self::Auto if kind == TAKES_AND_DROPS => (Mode::Generic, None),
            Self::Auto => (Mode::Native, Some(Mode::Generic)),
            Self::Only(mode) => (mode, None),
        }
    }
}

/// The program's place on an interface. It goes when it is [removed](Self::remove), and some time after this and all
/// copies and pins are gone.
#[derive(Debug)]
pub struct Attached {
    link: OwnedFd,
    /// How it runs.
    pub mode: Mode,
}

impl Attached {
    /// Pins it in a bpf file system, so that it outlives this process.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn pin(&self, path: &Path) -> Result<(), Error> {
        pins::pin(self.link.as_fd(), path)
    }

    /// Opens what was pinned for this interface.
    ///
    /// # Errors
    /// When it is not there, or the interface is gone.
    pub fn open(path: &Path, interface: &str) -> Result<Self, Error> {
        let link = pins::open(path)?;
        let on = program_on(interface)?;
        let mode = Mode::of(on.is_some_and(|on| on.is_native));
        Ok(Self { link, mode })
    }

    /// Takes what was pinned off its interface, and the pin away. When this returns another program can be attached
    /// there; of a pin that is only removed the kernel takes the program off in its own time.
    ///
    /// # Errors
    /// When there is no such pin, or the kernel refuses.
    pub fn remove(path: &Path) -> Result<(), Error> {
        let link = pins::open(path)?;
        sys::detach(link.as_fd()).doing(|| format!("detaching {}", path.display()))?;
        pins::unpin(path)
    }

    /// Whether it is on this interface still. When an interface is removed, and perhaps another made with its name,
    /// the pin is left and means nothing.
    ///
    /// # Errors
    /// When there is no such interface, or the kernel refuses.
    pub fn is_on(&self, interface: &str) -> Result<bool, Error> {
        let place = sys::place_of_link(self.link.as_fd());
        let place = place.doing(|| "asking where the interface program is attached".to_owned())?;
        Ok(place == index_of(interface)?)
    }
}

pub(crate) fn attach(
    program: BorrowedFd<'_>,
    interface: &str,
    choice: ModeChoice,
) -> Result<Attached, Error> {
    let (index, found) = look_for_program(interface)?;
    let doing = |modes: &str| format!("attaching the interface program to {interface} ({modes})");
    let (first, otherwise) = choice.modes(&found.kind);
    let refusal = match attach_as(program, index, first) {
        Ok(attached) => return Ok(attached),
        Err(refusal) => refusal,
    };
    let Some(second) = otherwise else {
        return Err(refusal).doing(|| doing(&first.to_string()));
    };
    attach_as(program, index, second).doing(|| doing(&format!("{first}: {refusal}; {second}")))
}

/// Looks whether an interface has another program. With all privileges it is told whose.
///
/// # Errors
/// When it has, or there is no such interface.
pub fn look_for_others(interface: &str) -> Result<(), Error> {
    look_for_program(interface).map(drop)
}

/// An interface that has no program.
fn look_for_program(interface: &str) -> Result<(u32, Interface), Error> {
    let index = index_of(interface)?;
    let found = look_at(interface, index)?;
    match found.program {
        None => Ok((index, found)),
        Some(other) => Err(Error::Occupied {
            interface: interface.to_owned(),
            occupant: Box::new(Occupant::of(other)),
        }),
    }
}

fn attach_as(program: BorrowedFd<'_>, index: u32, mode: Mode) -> io::Result<Attached> {
    let flag = match mode {
        Mode::Native => NATIVE,
        Mode::Generic => GENERIC,
    };
    let link = sys::attach(program, index, flag)?;
    Ok(Attached { link, mode })
}

fn index_of(interface: &str) -> Result<u32, Error> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None);
    let socket = socket.doing(|| "opening a socket".to_owned())?;
    name_to_index(socket, interface).map_err(|_| Error::NoInterface(interface.to_owned()))
}

/// The program on an interface, ours or another.
pub(crate) fn program_on(interface: &str) -> Result<Option<OnInterface>, Error> {
    Ok(look_at(interface, index_of(interface)?)?.program)
}

fn look_at(interface: &str, index: u32) -> Result<Interface, Error> {
    netlink::interface(index).doing(|| format!("asking what is attached to {interface}"))
}
