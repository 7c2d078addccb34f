//! `bcl doctor`: why two hosts do not find each other, or not as quickly as they could; or an MPI library does not use BCL.

mod agent;
mod card;
mod clock;
mod finding;
mod firewall;
mod host;
mod kernel;
mod listen;
mod local;
mod mpi;
mod mtu;
mod names;
mod probe;
mod question;

use std::process::ExitCode;

use bcl::JobKey;
use bcl_wire::JobKeys;
use clap::Args;

use crate::failure::{FAILED, Failure, Result};
use crate::output;
use finding::{Finding, Verdict};

/// Look for what keeps hosts from reaching each other, and say how to mend it.
///
/// Looks at this machine, and with HOST also at the way there: route, firewalls and MTU in both directions. For
/// that, `bcl doctor --listen` has to run on HOST; without it, less can be told. With --mpi it looks at an MPI library
/// instead: it starts one process with the settings of `bcl mpi-env` and says whether that used BCL, and if not, what is
/// missing. The status is 1 if there is a problem.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The other host: a name of the nodes file, a host name or an address.
    #[arg(conflicts_with = "listen")]
    host: Option<String>,
    /// Answer doctors of other hosts until interrupted.
    #[arg(long)]
    listen: bool,
    /// Look whether programs started by MPIEXEC would run over BCL [default: mpiexec in PATH].
    #[arg(long, value_name = "MPIEXEC", num_args = 0..=1, default_missing_value = "mpiexec", conflicts_with_all = ["host", "listen"])]
    mpi: Option<String>,
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
    if let Some(mpiexec) = &arguments.mpi {
        mpi::look_at(mpiexec, &mut |finding| report.add(finding))?;
        return report.end();
    }
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

/// A name of the job that `key` belongs to, which tells nothing of the key: the one that its packets carry ([WIRE-3.3]).
fn job_id(key: &JobKey) -> u64 {
    JobKeys::derive(&key.packet_secret()).id()
}

#[test]
fn jobs_differ_by_key() {
    let key = |digit: &str| JobKey::from_hex(&digit.repeat(64)).unwrap();
    assert_eq!(job_id(&key("1")), job_id(&key("1")));
    assert_ne!(job_id(&key("1")), job_id(&key("2")));
}
