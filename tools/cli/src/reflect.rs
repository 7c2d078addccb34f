//! `bcl reflect`: the regions of reflective memory on this node, and their members.

use bcl::Folder;
use bcl_reflect::{Report, ReportedMember, reports};
use clap::Args;

use crate::failure::{Failure, Result};
use crate::output;

/// Show the regions of reflective memory on this node, and who their members are.
///
/// Regions of yours that have a member on this node, as one of their members tells. Others' are not shown, nor are those whose
/// members do not answer within a second, because they are stopped.
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
    let columns = "  member  process  joined  ".to_owned();
    let members = report.known.iter().map(of_member);
    [header, columns].into_iter().chain(members).collect()
}

fn of_member(one: &ReportedMember) -> String {
    let ended = one.ended.as_deref().unwrap_or("there");
    let ReportedMember {
        member,
        pid,
        joined,
        ..
    } = one;
    format!("  {member:>6}  {pid:>7}  {joined:>6}  {ended}")
}
