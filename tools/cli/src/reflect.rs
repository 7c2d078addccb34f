//! `bcl reflect`: the regions of reflective memory on this node, and their members.

use bcl::Folder;
use bcl_reflect::{Report, ReportedMember, ReportedNetwork, reports};
use clap::Args;

use crate::failure::{Failure, Result};
use crate::output;

/// Who sends and receives for a host does so several times a second.
const STOPPED_MS: u64 = 1500;

/// Show the regions of reflective memory on this node, and who their members are.
///
/// Regions of yours that have a member on this node, as one of their members tells. Others' are not shown, nor are those whose
/// members do not answer within a second, because they are stopped.
///
/// Of a region that other hosts have too: which, what packets take to them, and for each member how many bytes are behind: of what a member of
/// this host wrote, how much the slowest of the others has not; of what one of another host wrote, how much is not here.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only regions of these names [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Print one JSON object a line and region.
    #[arg(long)]
    json: bool,
}

/// Prints them.
pub fn run(arguments: &Arguments) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    let folder = Folder::open(Folder::default_path()).map_err(|error| failed(&error))?;
    let mut found = reports(&folder).map_err(|error| failed(&error))?;
    let is_wanted =
        |report: &Report| arguments.names.is_empty() || arguments.names.contains(&report.name);
    found.retain(is_wanted);
    if arguments.json {
        return found.iter().try_for_each(output::json);
    }
    if found.is_empty() {
        return output::line(format!(
            "no region has a member that answers (in {})",
            folder.path().display()
        ));
    }
    found.iter().flat_map(lines).try_for_each(output::line)
}

fn lines(report: &Report) -> Vec<String> {
    let there = report.known.iter().filter(|one| one.is_there).count();
    let header = format!(
        "region {}: {} bytes, {there} of {} members are there",
        report.name, report.len_bytes, report.members
    );
    let network = report.network.iter().flat_map(of_network);
    let columns = match report.network {
        None => "  member  process  joined  ".to_owned(),
        Some(_) => format!("  member  process  joined  {:<24}  behind", "host"),
    };
    let members = report.known.iter().map(of_member);
    let below = [columns].into_iter().chain(members);
    [header].into_iter().chain(network).chain(below).collect()
}

fn of_network(network: &ReportedNetwork) -> Vec<String> {
    let ReportedNetwork {
        address,
        others,
        kept_by,
        ran_before_ms,
        way,
        ..
    } = network;
    let others = match others.len() {
        0 => "no other host answers".to_owned(),
        _ => format!("with {}", others.join(", ")),
    };
    let keeper = match kept_by {
        0 => "no process sends and receives for this host just now".to_owned(),
        _ if *ran_before_ms > STOPPED_MS => format!(
            "process {kept_by}, which sends and receives for this host, has not run for {} s: continue it, or end it",
            ran_before_ms / 1000
        ),
        _ => format!("process {kept_by} sends and receives for this host"),
    };
    let mut lines = vec![
        format!("  on {address}, {others}"),
        format!("  {keeper}"),
        format!(
            "  {way}; {} sent, {} again, {} passed on, {} refused",
            network.packets_sent,
            network.packets_sent_again,
            network.packets_passed_on,
            network.packets_refused
        ),
    ];
    if network.is_fetched {
        lines.push("  what was missed is being fetched".into());
    }
    lines
}

fn of_member(one: &ReportedMember) -> String {
    let ended = one.ended.as_deref().unwrap_or("there");
    let ReportedMember {
        member,
        pid,
        joined,
        ..
    } = one;
    let Some(behind_bytes) = one.behind_bytes else {
        return format!("  {member:>6}  {pid:>7}  {joined:>6}  {ended}");
    };
    let host = one.host.as_deref().unwrap_or("this one");
    let pid = match one.host {
        Some(_) => "-".to_owned(),
        None => pid.to_string(),
    };
    format!("  {member:>6}  {pid:>7}  {joined:>6}  {host:<24}  {behind_bytes:>6}  {ended}")
}
