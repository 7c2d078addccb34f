//! `bcl doctor`: why two hosts do not find each other, or not as quickly as they could.

mod clock;
mod finding;
mod firewall;
mod host;
mod kernel;
mod listen;
mod local;
mod mtu;
mod names;
mod probe;
mod question;

use std::process::ExitCode;

use clap::Args;

use crate::failure::{FAILED, Failure, Result};
use crate::output;
use finding::{Finding, Verdict};

/// Look for what keeps hosts from reaching each other, and say how to mend it.
///
/// Looks at this machine, and with HOST also at the way there: route, firewalls and MTU in both directions. For
/// that, `bcl doctor --listen` has to run on HOST; without it, less can be told. The status is 1 if there is a problem.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The other host: a name of the nodes file, a host name or an address.
    #[arg(conflicts_with = "listen")]
    host: Option<String>,
    /// Answer doctors of other hosts until interrupted.
    #[arg(long)]
    listen: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Looks, prints, and says whether all is well.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.listen {
        listen::run()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::new(arguments.json);
    local::findings()
        .into_iter()
        .try_for_each(|finding| report.add(finding))?;
    if let Some(name) = &arguments.host {
        host::look_at(name, &mut |finding| report.add(finding))?;
    }
    report.end()
}

/// People see each finding when it is there, for some take seconds; programs get all at the end.
struct Report {
    json: bool,
    findings: Vec<Finding>,
}

impl Report {
    fn new(json: bool) -> Report {
        Report {
            json,
            findings: Vec::new(),
        }
    }

    fn add(&mut self, finding: Finding) -> Result<()> {
        if !self.json {
            output::line(&finding)?;
        }
        self.findings.push(finding);
        Ok(())
    }

    fn end(self) -> Result<ExitCode> {
        if self.json {
            output::json(&serde_json::json!({ "findings": self.findings }))?;
        }
        let is_problem = |finding: &Finding| finding.verdict == Verdict::Problem;
        Ok(match self.findings.iter().any(is_problem) {
            true => ExitCode::from(FAILED),
            false => ExitCode::SUCCESS,
        })
    }
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::system(what, error)
}
