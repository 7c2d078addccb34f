//! Whether packets get to the ports of BCL, and back.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bcl_udp::{Report, Trouble};
use bcl_wire::udp_port;

use super::finding::{Finding, ok, problem, warning};
use super::kernel;
use super::probe::{Answered, Outcome, Prober};
use super::question::{AnswerKind, sample_ports};
use crate::failure::Result;

const CHECK: &str = "firewall";
const CHECK_BACK: &str = "firewall_back";
const TRIES: u32 = 5;
/// While nothing at all comes: the kernel needs 3 s to find that a neighbour does not answer.
const TRIES_IN_SILENCE: u32 = 14;
const PATIENCE: Duration = Duration::from_millis(250);

/// The command that opens the range, for the firewalls that are usual.
fn opening() -> String {
    let (first, last) = (udp_port::ALL.start(), udp_port::ALL.end());
    format!(
        "nft add rule inet filter input udp dport {first}-{last} accept (or firewall-cmd --add-port={first}-{last}/udp, or ufw allow {first}:{last}/udp)"
    )
}

/// Asks at some ports of the range. Returns an answer if there was one.
pub fn outward(prober: &mut Prober, to: IpAddr) -> Result<(Finding, Option<Answered>)> {
    let mut all = Outcome::default();
    for tried in 0..TRIES_IN_SILENCE {
        let silent: Vec<SocketAddr> = sample_ports()
            .map(|port| SocketAddr::new(to, port))
            .filter(|address| {
                !all.answered
                    .iter()
                    .any(|answered| answered.from.port() == address.port())
            })
            .collect();
        let is_silence = all.answered.is_empty() && all.reports.is_empty();
        if answered_all(&all) || (tried >= TRIES && !is_silence) {
            break;
        }
        let outcome = prober.ask(&silent, AnswerKind::Short, 0, PATIENCE)?;
        all.answered.extend(outcome.answered);
        all.reports.extend(outcome.reports);
        all.refusal = outcome.refusal.or(all.refusal);
    }
    let best = all
        .answered
        .iter()
        .min_by_key(|answered| answered.round_trip)
        .copied();
    let finding = match &best {
        Some(best) => of_answers(to, best, &silent_ports(&all)),
        None => of_reports(to, &all),
    };
    Ok((finding, best))
}

/// Whether nobody is missing who says that he is there.
fn answered_all(outcome: &Outcome) -> bool {
    !outcome.answered.is_empty() && silent_ports(outcome).is_empty()
}

/// Ports at which the other side listens, but that have not answered.
fn silent_ports(outcome: &Outcome) -> Vec<u16> {
    let open = outcome
        .answered
        .first()
        .map_or(0, |answered| answered.answer.ports);
    sample_ports()
        .enumerate()
        .filter(|(index, _)| open & 1 << index != 0)
        .map(|(_, port)| port)
        .filter(|port| {
            !outcome
                .answered
                .iter()
                .any(|answered| answered.from.port() == *port)
        })
        .collect()
}

fn of_answers(to: IpAddr, best: &Answered, silent: &[u16]) -> Finding {
    let (first, last) = (udp_port::ALL.start(), udp_port::ALL.end());
    if best.from.ip() != to {
        let text = format!(
            "{to} answers from {}: peers refuse what does not come from the address they talk to",
            best.from.ip()
        );
        return warning(
            CHECK,
            text,
            format!("on {to}: export BCL_NODE={}", best.from.ip()),
        );
    }
    let microseconds = best.round_trip.as_micros();
    match silent {
        [] => ok(
            CHECK,
            format!("{to} answers on the ports tried of {first}-{last}, within {microseconds} us"),
        ),
        _ => {
            let ports: Vec<String> = silent.iter().map(u16::to_string).collect();
            let text = format!(
                "{to} answers, but not on {}: a firewall permits a part of {first}-{last} only",
                ports.join(", ")
            );
            problem(CHECK, text, format!("on {to}: {}", opening()))
        }
    }
}

/// Without an answer, what the network says has to do.
fn of_reports(to: IpAddr, outcome: &Outcome) -> Finding {
    let (first, last) = (udp_port::ALL.start(), udp_port::ALL.end());
    let of = |wanted: Trouble| {
        outcome
            .reports
            .iter()
            .find(|report| report.trouble == wanted)
    };
    let by = |report: &Report| {
        report
            .by
            .map_or_else(|| "this machine".into(), |by| by.to_string())
    };
    let listen = format!("on {to}: bcl doctor --listen");
    if of(Trouble::PortUnreachable).is_some() {
        let text = format!(
            "packets arrive at ports {first}-{last} of {to}, where nobody listens now; MTU and the way back were not tried"
        );
        return warning(CHECK, text, listen);
    }
    if let Some(report) = of(Trouble::Prohibited) {
        let text = format!(
            "{} refuses packets to ports {first}-{last} of {to}",
            by(report)
        );
        return problem(CHECK, text, format!("on {}: {}", by(report), opening()));
    }
    if let Some(report) = of(Trouble::HostUnreachable) {
        let text = format!(
            "there is no host {to}, says {}: it is down, or the address is wrong",
            by(report)
        );
        return problem(
            CHECK,
            text,
            format!("on that host: ip -brief address; here: ip neighbour show {to}"),
        );
    }
    if let Some(error) = &outcome.refusal {
        return problem(
            CHECK,
            error.to_string(),
            "nft list ruleset (look for what drops or rejects in `output`)",
        );
    }
    let text = format!(
        "nothing comes back from ports {first}-{last} of {to}, not even that nobody listens: a firewall there or here drops packets, or the host is off"
    );
    problem(
        CHECK,
        text,
        format!("on {to}: {}; then {listen}", opening()),
    )
}

/// Whether we get what we have not asked for, as the first packet of a peer is.
pub fn inward(prober: &mut Prober, to: SocketAddr, source: IpAddr) -> Result<Finding> {
    let (first, last) = (udp_port::ALL.start(), udp_port::ALL.end());
    let drops_before = kernel::reverse_path_drops();
    let mut other = Prober::new(source)?;
    for _ in 0..TRIES {
        let outcome = prober.ask_for(&mut other, to, PATIENCE)?;
        if !outcome.answered.is_empty() {
            return Ok(ok(
                CHECK_BACK,
                format!("packets of {} arrive here without being asked for", to.ip()),
            ));
        }
    }
    if let Some(finding) = dropped_by_reverse_path(drops_before) {
        return Ok(finding);
    }
    let text = format!(
        "answers of {} arrive, but not what it sends of its own: a firewall here drops packets to ports {first}-{last}",
        to.ip()
    );
    Ok(problem(CHECK_BACK, text, format!("here: {}", opening())))
}

/// A finding if the kernel has dropped packets by its reverse path filter since it had dropped `before`.
pub fn dropped_by_reverse_path(before: Option<u64>) -> Option<Finding> {
    let dropped = kernel::reverse_path_drops()?.saturating_sub(before?);
    (dropped > 0).then(|| {
        problem(
            "rp_filter",
            format!("{dropped} packets were dropped while probing, for they came by another interface than ours go by"),
            "sysctl -w net.ipv4.conf.all.rp_filter=2",
        )
    })
}
