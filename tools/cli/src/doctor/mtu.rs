//! How large packets may be on the way to another host and back, tried with packets.

use std::net::SocketAddr;
use std::time::Duration;

use bcl_proto::MtuSearch;
use bcl_udp::mtu::largest_datagram_bytes;
use bcl_udp::route::Route;
use bcl_udp::{Report, Trouble};

use super::finding::{Finding, ok, problem, warning};
use super::probe::Prober;
use super::question::AnswerKind;
use crate::failure::Result;

const PATIENCE: Duration = Duration::from_millis(200);

/// Both directions. `back_mtu` is what the other side's kernel knows of the way to us.
pub fn findings(
    prober: &mut Prober,
    to: SocketAddr,
    route: &Route,
    mtu: u32,
    back_mtu: u32,
) -> Result<Vec<Finding>> {
    let mut outward = search(prober, to, AnswerKind::Short, mtu)?;
    if back_mtu != 0 {
        // Some links let a few bytes more pass than they say.
        outward.sound = outward.passes.min(back_mtu);
    }
    let mut findings = vec![outward.finding("mtu", &format!("to {}", to.ip()), route)];
    // What comes back is as long as what goes there, so no more than that can be tried.
    let limit = match back_mtu {
        0 => outward.passes,
        known => outward.passes.min(known),
    };
    let back = search(prober, to, AnswerKind::Same, limit)?;
    findings.push(back.finding("mtu_back", &format!("from {}", to.ip()), route));
    if back_mtu != 0 && back_mtu != mtu {
        let text = format!(
            "the MTU is {mtu} here and {back_mtu} at {}: the larger one is of no use between them",
            to.ip()
        );
        let (side, wanted) = match mtu < back_mtu {
            true => ("here".into(), back_mtu),
            false => (format!("on {}", to.ip()), mtu),
        };
        findings.push(warning(
            "mtu_equal",
            text,
            format!("{side}: ip link set dev INTERFACE mtu {wanted}, if the network takes it"),
        ));
    }
    Ok(findings)
}

/// Lengths of packets, with IP's headers.
struct Found {
    tried: u32,
    passes: u32,
    /// What to set an interface to.
    sound: u32,
    told: Option<Report>,
}

fn search(prober: &mut Prober, to: SocketAddr, wanted: AnswerKind, mtu: u32) -> Result<Found> {
    let largest = largest_datagram_bytes(mtu, to.ip());
    // UDP's lengths have 16 bits.
    let bytes_of = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX);
    let mut search = MtuSearch::from_base(bytes_of(largest));
    let mut told = None;
    while let Some(bytes) = search.next_probe() {
        let outcome = prober.ask(&[to], wanted, bytes.into(), PATIENCE)?;
        for report in outcome.reports {
            if let Trouble::TooLarge { mtu } = report.trouble {
                search.on_too_large(bytes_of(largest_datagram_bytes(mtu, to.ip())));
                told = Some(report);
            }
        }
        match outcome.answered.is_empty() {
            false => search.on_probe_ack(bytes),
            true => drop(search.on_probe_loss(bytes)),
        }
    }
    let passes = mtu - (largest - usize::from(search.current_bytes())) as u32;
    Ok(Found {
        tried: mtu,
        passes,
        sound: passes,
        told,
    })
}

impl Found {
    fn finding(&self, check: &'static str, direction: &str, route: &Route) -> Finding {
        let Found {
            tried,
            passes,
            sound,
            ..
        } = self;
        if passes == tried {
            return ok(
                check,
                format!("packets of {passes} B get through {direction}"),
            );
        }
        let mend = format!(
            "ip link set dev {} mtu {sound}, or a larger one on the links on the way",
            route.interface.name
        );
        match &self.told {
            Some(report) => {
                let by = report
                    .by
                    .map_or_else(|| "this machine".into(), |by| by.to_string());
                let text = format!(
                    "packets of {passes} B get through {direction}, not of {tried} B, says {by}"
                );
                warning(check, text, mend)
            }
            None => {
                let text = format!(
                    "packets of {passes} B get through {direction}, larger ones up to {tried} B vanish without a word: every connection has to find that out by losses, and others than BCL's hang"
                );
                problem(check, text, mend)
            }
        }
    }
}
