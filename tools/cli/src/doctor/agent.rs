//! The node's agent, if it has one, and whether peers hear what its program at the interfaces answers.

use bcl_agent_client::{Agent, AgentError, InterfaceStatus, Status};

use super::finding::{Finding, ok, warning};

const CHECK: &str = "agent";
/// The other end of a virtual pair, and cards with fewer queues for sending than processors, are the cases known.
const MEND: &str =
    "bcld --mode generic; or, for a veth, `ethtool -K OTHER_END gro on` on its other end";

/// Nothing if there is none: nobody needs one.
pub fn finding() -> Option<Finding> {
    match Agent::connect().and_then(|agent| agent.status()) {
        Ok(status) => Some(judge(&status)),
        Err(AgentError::NotThere { .. }) => None,
        Err(error) => Some(warning(CHECK, error.to_string(), "systemctl restart bcld")),
    }
}

fn judge(status: &Status) -> Finding {
    let interfaces = InterfaceStatus::list(&status.interfaces);
    let has_all = status.interfaces.iter().all(InterfaceStatus::is_attached);
    match status.unheard {
        0 if !has_all => warning(
            CHECK,
            format!("its program is not everywhere: {interfaces}; ports there use the socket"),
            "bcld check",
        ),
        0 => ok(
            CHECK,
            format!(
                "its program is at {interfaces}, for {} ports",
                status.ports.len()
            ),
        ),
        unheard => warning(
            CHECK,
            format!(
                "peers of {unheard} connections did not hear what its program at {interfaces} answered, so that these go \
                 by the socket: a driver loses what such a program sends back, or a firewall does"
            ),
            MEND,
        ),
    }
}

#[test]
fn a_program_that_is_absent_or_unheard_is_a_reason_to_warn() {
    use super::finding::Verdict;
    let mut status = Status {
        agent: "1".into(),
        name: "bcld".into(),
        pid: 1,
        interfaces: vec![InterfaceStatus {
            name: "eth0".into(),
            mode: "native".into(),
            trouble: None,
        }],
        ports: Vec::new(),
        counters: Default::default(),
        unheard: 0,
    };
    let fine = judge(&status);
    assert!(fine.verdict == Verdict::Ok && fine.text.contains("eth0 (native)"));
    status.interfaces[0].trouble = Some("it is gone".into());
    let absent = judge(&status);
    assert!(absent.verdict == Verdict::Warning && absent.text.contains("it is gone"));
    status.unheard = 3;
    let unheard = judge(&status);
    assert!(unheard.verdict == Verdict::Warning && unheard.text.contains("of 3 connections"));
}
