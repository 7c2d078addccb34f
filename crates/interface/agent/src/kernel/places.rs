//! The interfaces that are to have the program: they come, go, and are made anew under their old names.

use std::path::Path;

use bcl_agent_messages::InterfaceStatus;
use bcl_mcp::{Attached, Error, Mcp, Mode, ModeChoice, pins};

use super::start::link_name;

/// An interface that is to have the program.
pub(super) struct Place {
    name: String,
    choice: ModeChoice,
    /// Or why it has it not.
    attached: Result<Attached, Error>,
}

impl Place {
    /// Attaches the program, or finds it attached by an earlier agent.
    pub fn new(mcp: &Mcp, folder: &Path, name: &str, choice: ModeChoice) -> Self {
        Self {
            name: name.to_owned(),
            choice,
            attached: attach(mcp, folder, name, choice),
        }
    }

    /// Why the program is not there.
    pub fn trouble(&self) -> Option<&Error> {
        self.attached.as_ref().err()
    }

    pub fn mode(&self) -> Option<Mode> {
        Some(self.attached.as_ref().ok()?.mode)
    }

    pub fn status(&self) -> InterfaceStatus {
        let mode = self.mode().map(|mode| mode.to_string());
        InterfaceStatus {
            name: self.name.clone(),
            mode: mode.unwrap_or_else(|| InterfaceStatus::ABSENT.to_owned()),
            trouble: self.trouble().map(Error::to_string),
        }
    }

    /// Attaches the program where it is no longer, or could not be. What has changed, in words.
    pub fn follow(&mut self, mcp: &Mcp, folder: &Path) -> Option<String> {
        let before = match &self.attached {
            Ok(attached) if attached.is_on(&self.name).is_ok_and(|is_on| is_on) => return None,
            // Whose it is takes long to find out.
            Err(Error::Occupied { occupant, .. }) if occupant.is_on(&self.name) => return None,
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        self.attached = attach(mcp, folder, &self.name, self.choice);
        match &self.attached {
            Ok(attached) => Some(format!("on {} again ({})", self.name, attached.mode)),
            // Said once.
            Err(error) if before == Some(error.to_string()) => None,
            Err(error) => Some(format!("not on {} any more: {error}", self.name)),
        }
    }
}

/// What is pinned for an interface, if that has it still.
pub(super) fn pinned(folder: &Path, interface: &str) -> Option<Attached> {
    let own = Attached::open(&folder.join(link_name(interface)), interface).ok()?;
    own.is_on(interface).is_ok_and(|is_on| is_on).then_some(own)
}

fn attach(
    mcp: &Mcp,
    folder: &Path,
    interface: &str,
    choice: ModeChoice,
) -> Result<Attached, Error> {
    let pin = folder.join(link_name(interface));
    if pin.exists() {
        match Attached::open(&pin, interface) {
            Ok(attached) if attached.is_on(interface)? => match choice {
                ModeChoice::Only(mode) if mode != attached.mode => Attached::remove(&pin)?,
                _ => return Ok(attached),
            },
            // Of an interface that is gone, whether there is another of its name or none.
            Ok(_) | Err(Error::NoInterface(_)) => pins::unpin(&pin)?,
            Err(error) => return Err(error),
        }
    }
    let attached = mcp.attach(interface, choice)?;
    attached.pin(&pin)?;
    Ok(attached)
}
