//! What may keep the interface program from working here.

use bcl_mcp::{Error, Mcp, Mode};

use super::places::pinned;
use super::start::{is_bpffs, mode_choice};
use crate::check::Finding;
use crate::settings::Settings;

/// Tries it: nothing tells better than the kernel itself.
pub(super) fn findings(settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![bpffs(settings)];
    match Mcp::load() {
        Ok(mcp) => {
            findings.push(Finding::good("the kernel accepts the interface program"));
            let named = settings.interfaces.iter();
            findings.extend(named.map(|name| interface(settings, &mcp, name)));
        }
        Err(error) => findings.push(Finding::bad(
            error.to_string(),
            "as root: `bcld check`; a kernel from 5.18 on with CONFIG_BPF_SYSCALL",
        )),
    }
    findings
}

fn bpffs(settings: &Settings) -> Finding {
    let place = settings.bpffs.display();
    if is_bpffs(&settings.bpffs) {
        return Finding::good(format!("a bpf file system is mounted at {place}"));
    }
    Finding::worse(
        format!("no bpf file system is mounted at {place}; bcld will try to mount it"),
        format!("mount -t bpf bpf {place}"),
    )
}

/// What is attached already is looked at; else it is attached for a moment.
fn interface(settings: &Settings, mcp: &Mcp, name: &str) -> Finding {
    if let Some(own) = pinned(&settings.pins(), name) {
        return of_mode(name, own.mode, "is attached");
    }
    match mcp.attach(name, mode_choice(settings.mode)) {
        Ok(attached) => of_mode(name, attached.mode, "can be attached"),
        Err(Error::Occupied { occupant, .. }) => Finding::bad(
            format!("{name}: another XDP program is there, {occupant}, and there can be one only"),
            format!("{}; else programs use UDP there", occupant.remedy(name)),
        ),
        Err(error) => Finding::bad(format!("{name}: {error}"), "let programs use UDP there"),
    }
}

fn of_mode(name: &str, mode: Mode, how: &str) -> Finding {
    match mode {
        Mode::Native => Finding::good(format!("{name}: the interface program {how} in the driver")),
        Mode::Generic => Finding::worse(
            format!("{name}: the interface program {how} behind the driver only, which is slower"),
            format!(
                "ip link set dev {name} mtu 3400    # if the driver has a place for XDP, it may be the MTU; `ethtool -i {name}` names the driver, and of veth `bcld --help` says when --mode native is right"
            ),
        ),
    }
}
