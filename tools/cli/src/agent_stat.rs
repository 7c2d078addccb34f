//! `bcl stat --agent`: what the node's agent knows of its ports, and what the interface program has counted.

use std::collections::BTreeMap;

use bcl_agent_client::{Agent, AgentError, InterfaceStatus, PortStatus, Status};

use crate::failure::{Failure, Result};
use crate::output;

/// Prints the status as a table, or as it came.
pub fn show(as_json: bool) -> Result<()> {
    let status = ask(|agent| agent.status())?;
    if as_json {
        let value = serde_json::to_value(&status);
        return output::json(&value.map_err(|error| Failure::new(error.to_string()))?);
    }
    lines(&status).iter().try_for_each(output::line)
}

/// Prints the status as Prometheus reads it.
pub fn metrics() -> Result<()> {
    let text = ask(|agent| agent.metrics())?;
    text.lines().try_for_each(output::line)
}

fn ask<T>(question: impl FnOnce(&Agent) -> std::result::Result<T, AgentError>) -> Result<T> {
    let answer = Agent::connect().and_then(|agent| question(&agent));
    answer.map_err(|error| Failure::new(error.to_string()))
}

fn lines(status: &Status) -> Vec<String> {
    let mut lines = vec![
        format!(
            "agent {} '{}', process {}, on {}",
            status.agent,
            status.name,
            status.pid,
            InterfaceStatus::list(&status.interfaces)
        ),
        format!("all ports: {}", causes(&status.counters)),
    ];
    if status.unheard > 0 {
        lines.push(format!(
            "{} connections were taken back since the peer did not hear the interface program's answers: see `bcl doctor`",
            status.unheard
        ));
    }
    if status.ports.is_empty() {
        lines.push("it has no ports open".to_owned());
    }
    lines.extend(status.ports.iter().flat_map(of_port));
    lines
}

fn of_port(port: &PortStatus) -> [String; 2] {
    let unattended = if port.attended {
        ""
    } else {
        ", not heard since the agent was restarted"
    };
    [
        format!(
            "{}:{} of process {} (user {}): {} connections, {} windows, {} KiB of memory, ring of {} KiB{unattended}",
            port.node,
            port.number,
            port.pid,
            port.uid,
            port.connections,
            port.windows,
            port.memory_bytes >> 10,
            port.ring_bytes >> 10,
        ),
        format!("  {}", causes(&port.counters)),
    ]
}

/// Those that have counted anything.
fn causes(counters: &BTreeMap<String, u64>) -> String {
    let counted = counters.iter().filter(|(_, count)| **count > 0);
    let words: Vec<_> = counted
        .map(|(cause, count)| format!("{cause} {count}"))
        .collect();
    match words.is_empty() {
        true => "no packets".to_owned(),
        false => words.join(", "),
    }
}

#[test]
fn only_what_was_counted_is_shown() {
    let counters = BTreeMap::from([
        ("acks".to_owned(), 2),
        ("check".to_owned(), 0),
        ("packets".to_owned(), 5),
    ]);
    assert_eq!(causes(&counters), "acks 2, packets 5");
    assert_eq!(causes(&BTreeMap::new()), "no packets");
}
