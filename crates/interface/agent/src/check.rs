//! `bcld check`: what keeps the agent from working here, and the command that mends it.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use bcl_daemon::privileges;
use bcl_udp::route::interfaces;

use crate::arguments::Options;
use crate::settings::Settings;
use crate::start::Backend;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works, but not as well as it could.
    Worse,
    /// It does not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug)]
pub struct Finding {
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub text: String,
    /// The command that mends it; empty if nothing has to be.
    pub remedy: String,
}

/// The oldest kernel on which the interface program loads.
const KERNEL: (u32, u32) = (5, 18);

impl Finding {
    /// Nothing to mend.
    pub fn good(text: impl Into<String>) -> Self {
        Self::new(Verdict::Good, text, "")
    }

    /// It does not work.
    pub fn bad(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Verdict::Bad, text, remedy)
    }

    /// It could be better.
    pub fn worse(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Verdict::Worse, text, remedy)
    }

    fn new(verdict: Verdict, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            verdict,
            text: text.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.verdict {
            Verdict::Good => "ok   ",
            Verdict::Worse => "slow ",
            Verdict::Bad => "BAD  ",
        };
        write!(f, "{mark} {}", self.text)?;
        if !self.remedy.is_empty() {
            write!(f, "\n      {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Prints all findings; fails if something does not work.
pub(crate) fn run(options: &Options, backend: &Backend) -> ExitCode {
    let mut findings = vec![kernel(), capabilities(backend)];
    match Settings::gather(options) {
        Ok(settings) => {
            findings.push(group(&settings));
            let named = settings.interfaces.iter();
            findings.extend(named.map(|name| interface(name)));
            findings.extend((backend.check)(&settings));
        }
        Err(error) => findings.push(Finding::bad(error.to_string(), "")),
    }
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        // Who does not read the rest does not need it.
        let _ = writeln!(out, "{finding}");
    }
    match findings.iter().any(|found| found.verdict == Verdict::Bad) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn kernel() -> Finding {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let (major, minor) = KERNEL;
    match version(&release) {
        Some(found) if found < KERNEL => Finding::bad(
            format!("Linux {release}: the interface program needs {major}.{minor}"),
            "boot a newer kernel; until then programs use UDP",
        ),
        _ => Finding::good(format!("Linux {release}")),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn capabilities(backend: &Backend) -> Finding {
    match privileges::missing(backend.needs) {
        Ok(missing) if missing.is_empty() => Finding::good("all capabilities that are needed"),
        Ok(missing) => Finding::bad(
            format!("{} missing", privileges::names(missing)),
            "start bcld as root (`sudo bcld check`), or by systemd (`systemctl start bcld`)",
        ),
        Err(error) => Finding::bad(format!("capabilities cannot be looked at: {error}"), ""),
    }
}

fn group(settings: &Settings) -> Finding {
    let group = &settings.group;
    match settings.gid {
        Some(gid) => Finding::good(format!("group {group} ({gid}) may open ports")),
        None => Finding::worse(
            format!("there is no group {group}: only root may open ports"),
            format!("groupadd --system {group} && usermod -aG {group} USER"),
        ),
    }
}

fn interface(name: &str) -> Finding {
    let all = match interfaces() {
        Ok(all) => all,
        Err(error) => return Finding::bad(format!("interfaces cannot be listed: {error}"), ""),
    };
    let Some(found) = all.iter().find(|found| found.name == name) else {
        let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
        return Finding::bad(
            format!("there is no interface {name}"),
            format!("use another: --interface {}", names.join(" or ")),
        );
    };
    if !found.is_up {
        return Finding::bad(
            format!("interface {name} is down"),
            format!("ip link set {name} up"),
        );
    }
    if !found.addresses.iter().any(|(ip, _)| ip.is_ipv4()) {
        return Finding::bad(
            format!(
                "interface {name} has no IPv4 address, and the interface program knows no other"
            ),
            format!("ip address add ADDRESS/LENGTH dev {name}"),
        );
    }
    Finding::good(format!("interface {name}: up, MTU {}", found.mtu))
}

#[test]
fn kernels_are_compared_by_number() {
    assert_eq!(version("6.18.44-fc-v669"), Some((6, 18)));
    assert_eq!(version("5.4-rc1"), Some((5, 4)));
    assert_eq!(version("x"), None);
    assert!(version("5.9.0") < Some(KERNEL) && version("5.18.0") >= Some(KERNEL));
}
