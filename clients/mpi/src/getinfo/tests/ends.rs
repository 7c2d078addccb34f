//! Nodes, services and addresses.

use super::*;
use crate::getinfo::ends::Wanted;

/// The ends of somebody on [`THIS`] node, where `right` is 10.0.0.2.
fn ends_of(
    node: Option<&str>,
    service: Option<&str>,
    flags: u64,
    hints: &Hints,
) -> Result<Ends, String> {
    let wanted = Wanted {
        node,
        service,
        flags,
        hints: Some(hints),
    };
    Ends::of(THIS, &wanted, &|name| match name {
        "right" => Ok("10.0.0.2".parse().unwrap()),
        _ => Err(format!("who is {name}?")),
    })
}

#[test]
fn nodes_and_services_are_whom_to_reach_or_who_it_is() {
    let none = Hints::default();
    let right = "10.0.0.2".parse().unwrap();
    let to = |node, port| {
        Ok(Ends {
            source: name(THIS, 0),
            destination: Some(name(node, port)),
        })
    };
    let from = |port| {
        Ok(Ends {
            source: name(THIS, port),
            destination: None,
        })
    };
    assert_eq!(ends_of(None, None, 0, &none), from(0));
    assert_eq!(ends_of(Some("10.0.0.2"), Some("7"), 0, &none), to(right, 7));
    assert_eq!(ends_of(Some("right"), None, 0, &none), to(right, 0));
    assert_eq!(ends_of(None, Some("7"), 0, &none), to(THIS, 7));
    assert_eq!(ends_of(None, Some("7"), FI_SOURCE, &none), from(7));
    assert_eq!(
        ends_of(Some("10.0.0.1"), Some("7"), FI_SOURCE, &none),
        from(7)
    );
    for (node, service, flags, part) in [
        (Some("right"), None, FI_SOURCE, "set BCL_NODE"),
        (Some("right"), None, FI_NUMERICHOST, "'right' names no node"),
        (Some("left"), None, 0, "who is left?"),
        (Some("right"), Some("http"), 0, "'http'"),
        (Some("right"), Some("65536"), 0, "'65536'"),
    ] {
        let why = ends_of(node, service, flags, &none).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn addresses_in_hints_are_kept_or_refused() {
    let right = name("10.0.0.2".parse().unwrap(), 9);
    let hints = Hints {
        source: Some(name(THIS, 8).to_bytes().to_vec()),
        destination: Some(right.to_bytes().to_vec()),
        ..Hints::default()
    };
    assert_eq!(
        ends_of(None, None, 0, &hints),
        Ok(Ends {
            source: name(THIS, 8),
            destination: Some(right)
        })
    );
    let foreign = Hints {
        destination: Some(vec![0; 16]),
        ..Hints::default()
    };
    assert!(
        ends_of(None, None, 0, &foreign)
            .unwrap_err()
            .contains("destination address")
    );
}
