//! The status in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;

use bcl_agent_messages::{PortStatus, Status};

/// The status as a page for Prometheus.
pub(crate) fn text(status: &Status) -> String {
    let mut text = Text::default();
    let modes = status.interfaces.iter().map(|interface| {
        let labels = format!("interface={:?},mode={:?}", interface.name, interface.mode);
        (labels, interface.is_attached().into())
    });
    text.family(
        "bcl_interface",
        "gauge",
        "Interfaces that have the interface program (1), or are to have it (0).",
        modes,
    );
    let causes = |counters: &BTreeMap<String, u64>| {
        let pairs = counters.iter();
        let pairs = pairs.map(|(cause, count)| (format!("cause={cause:?}"), *count));
        pairs.collect::<Vec<_>>()
    };
    text.family(
        "bcl_packets_total",
        "counter",
        "Packets by what the interface program did with them.",
        causes(&status.counters),
    );
    text.family(
        "bcl_connections_unheard_total",
        "counter",
        "Connections that ports have taken back because the peer did not hear the interface program's answers.",
        [(String::new(), status.unheard)],
    );
    let each = |value: fn(&PortStatus) -> u64| {
        let ports = status.ports.iter();
        ports.map(move |port| (name_of(port), value(port)))
    };
    text.family(
        "bcl_port_info",
        "gauge",
        "Ports that are open.",
        status.ports.iter().map(|port| {
            (
                format!(
                    "{},uid=\"{}\",pid=\"{}\"",
                    name_of(port),
                    port.uid,
                    port.pid
                ),
                1,
            )
        }),
    );
    text.family(
        "bcl_port_ring_bytes",
        "gauge",
        "Size of a port's ring.",
        each(|port| port.ring_bytes.into()),
    );
    text.family(
        "bcl_port_connections",
        "gauge",
        "Connections that the interface program has.",
        each(|port| port.connections.into()),
    );
    text.family(
        "bcl_port_windows",
        "gauge",
        "Windows that are bound.",
        each(|port| port.windows.into()),
    );
    text.family(
        "bcl_port_memory_bytes",
        "gauge",
        "Memory for windows.",
        each(|port| port.memory_bytes),
    );
    text.family(
        "bcl_port_packets_total",
        "counter",
        "Packets of a port by what the interface program did with them.",
        status.ports.iter().flat_map(|port| {
            let all = causes(&port.counters);
            all.into_iter()
                .map(move |(cause, count)| (format!("{},{cause}", name_of(port)), count))
        }),
    );
    text.0
}

fn name_of(port: &PortStatus) -> String {
    format!("port=\"{}:{}\"", port.node, port.number)
}

#[derive(Default)]
struct Text(String);

impl Text {
    /// A metric with its values by labels; left out if it has none.
    fn family(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return;
        }
        let text = &mut self.0;
        // Writing to a String does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = match labels.is_empty() {
                true => writeln!(text, "{name} {value}"),
                false => writeln!(text, "{name}{{{labels}}} {value}"),
            };
        }
    }
}

#[test]
fn metrics_look_as_prometheus_wants_them() {
    let counters = BTreeMap::from([("check".to_owned(), 3)]);
    let port = PortStatus {
        node: [10, 0, 0, 1].into(),
        number: 7,
        uid: 1000,
        pid: 5,
        attended: true,
        ring_bytes: 65_536,
        connections: 2,
        windows: 0,
        memory_bytes: 0,
        counters: counters.clone(),
    };
    let status = Status {
        agent: "0".into(),
        name: "x".into(),
        pid: 1,
        interfaces: Vec::new(),
        ports: vec![port],
        counters,
        unheard: 2,
    };
    let text = text(&status);
    assert!(!text.contains("bcl_interface"), "{text}");
    for line in [
        "# TYPE bcl_packets_total counter",
        "bcl_packets_total{cause=\"check\"} 3",
        "bcl_connections_unheard_total 2",
        "bcl_port_info{port=\"10.0.0.1:7\",uid=\"1000\",pid=\"5\"} 1",
        "bcl_port_connections{port=\"10.0.0.1:7\"} 2",
        "bcl_port_packets_total{port=\"10.0.0.1:7\",cause=\"check\"} 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
}
