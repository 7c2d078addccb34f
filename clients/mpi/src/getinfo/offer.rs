//! What a program gets for what it asks for, or why it gets nothing. Pure: no system is asked.

use super::attributes::{domain_attr, ep_attr, rx_attr, tx_attr};
use super::ends::Ends;
use super::hints::Hints;
use super::limits::*;
use crate::abi::*;
use crate::name::FI_ADDR_BCL;
use crate::provider::NAME;

/// The values of an `fi_info`. Pointers in its attributes are null.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What was asked for, and what that entails.
    pub caps: u64,
    /// `tx_attr`
    pub tx: fi_tx_attr,
    /// `rx_attr`
    pub rx: fi_rx_attr,
    /// `ep_attr`
    pub ep: fi_ep_attr,
    /// `domain_attr`
    pub domain: fi_domain_attr,
    /// `src_addr` and `dest_addr`
    pub ends: Ends,
}

/// Answers a program that was written for `version`, or one that has no hints.
///
/// # Errors
/// In words, if it needs something that is not there.
pub fn offer(version: u32, hints: Option<&Hints>, ends: Ends) -> Result<Offer, String> {
    let none = Hints::default();
    let hints = hints.unwrap_or(&none);
    check_names(hints)?;
    check_caps(hints.caps)?;
    let caps = caps_of(hints.caps);
    Ok(Offer {
        caps,
        tx: tx_attr(hints.tx.as_ref(), caps)?,
        rx: rx_attr(hints.rx.as_ref(), caps)?,
        ep: ep_attr(hints.ep.as_ref())?,
        domain: domain_attr(version, hints.domain.as_ref())?,
        ends,
    })
}

fn check_names(hints: &Hints) -> Result<(), String> {
    for (what, name) in [
        ("domain", &hints.domain_name),
        ("fabric", &hints.fabric_name),
    ] {
        if let Some(name) = name.as_ref().filter(|name| *name != NAME) {
            return Err(format!(
                "it wants the {what} '{name}', and there is only '{NAME}'"
            ));
        }
    }
    match hints.addr_format {
        FI_FORMAT_UNSPEC | FI_ADDR_BCL => Ok(()),
        other => Err(format!(
            "it wants addresses in format {other}, and there is only a format of BCL's own: ask for FI_FORMAT_UNSPEC"
        )),
    }
}

fn check_caps(caps: u64) -> Result<(), String> {
    const ABSENT: &[(u64, &str)] = &[
        (1 << 5, "FI_MULTICAST"),
        (1 << 6, "FI_COLLECTIVE"),
        (1 << 20, "FI_TRIGGER"),
        (FI_FENCE, "FI_FENCE"),
        (1 << 47, "FI_HMEM"),
        (1 << 53, "FI_SHARED_AV"),
        (FI_RMA_EVENT, "FI_RMA_EVENT"),
        (1 << 58, "FI_NAMED_RX_CTX"),
    ];
    let absent = caps & !CAPS;
    if absent == 0 {
        return Ok(());
    }
    let names: Vec<_> = ABSENT
        .iter()
        .filter(|(cap, _)| absent & cap != 0)
        .map(|(_, name)| *name)
        .collect();
    Err(format!(
        "it needs capabilities that are not there: {absent:#x} {}",
        names.join(" ")
    ))
}

/// What a program gets that asks for these: exactly that, in the directions that it names, or in all.
fn caps_of(asked: u64) -> u64 {
    if asked == 0 {
        return CAPS;
    }
    let mut caps = asked | DOMAIN_CAPS;
    for (what, directions) in [(MESSAGES, DIRECTIONS), (ONE_SIDED, ACCESSES)] {
        if asked & what != 0 && asked & directions == 0 {
            caps |= directions;
        }
    }
    caps
}
