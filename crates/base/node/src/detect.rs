//! Which node this is, when nobody has said so.

use std::env;

use bcl_types::{NodeId, ParseAddressError};

use crate::interfaces;
use crate::nodes::{Nodes, NodesError};

/// Where the kernel lists its IPv4 routes for this network namespace.
const ROUTES: &str = "/proc/net/route";

/// A setting that should say which node this is, and does not.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// `BCL_NODE` is set, but to something that names no node.
    #[error("BCL_NODE: {0}")]
    Variable(#[from] ParseAddressError),
    /// The nodes file cannot be used.
    #[error("{0}")]
    Nodes(#[from] NodesError),
}

/// The number of this node, and a few words on where it comes from.
///
/// `BCL_NODE` if it is set; else what the nodes file has for this host; else the IPv4 address of the
/// interface that holds the default route; else, as on compute nodes of a private network, that of the only interface
/// that is up beside the loopback; else 127.0.0.1.
pub fn detect_node() -> Result<(NodeId, String), DetectError> {
    if let Some(text) = env::var_os("BCL_NODE") {
        let node = text.to_string_lossy().parse()?;
        return Ok((node, "set by BCL_NODE".into()));
    }
    let nodes = Nodes::load()?;
    // Who cannot list its interfaces is not found by them.
    if let Ok(Some((node, why))) = nodes.this_host() {
        return Ok((node.id, why));
    }
    let found = of_default_route().or_else(|no_route| of_only_interface(&no_route));
    Ok(found.unwrap_or_else(|why_not| (NodeId::LOOPBACK, format!("loopback, because {why_not}"))))
}

/// An error here only means that we fall back to loopback, so a text will do.
fn of_default_route() -> Result<(NodeId, String), String> {
    let routes = bcl_os::file::of_kernel(ROUTES)
        .map_err(|error| format!("{ROUTES} cannot be read: {error}"))?;
    let interface =
        default_interface(&routes).ok_or_else(|| "there is no default route".to_string())?;
    match interfaces::ipv4_of(interface) {
        Ok(Some(ip)) => Ok((
            NodeId(ip),
            format!("address of {interface}, which holds the default route"),
        )),
        Ok(None) => Err(format!(
            "{interface}, which holds the default route, has no IPv4 address"
        )),
        Err(error) => Err(cannot_list(&error)),
    }
}

fn of_only_interface(no_route: &str) -> Result<(NodeId, String), String> {
    let all = interfaces::outer().map_err(|error| cannot_list(&error))?;
    match &all[..] {
        [(name, ip)] => Ok((
            NodeId(*ip),
            format!("address of {name}, the only one with an address: {no_route}"),
        )),
        [] => Err(no_route.to_owned()),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| &**name).collect();
            Err(format!(
                "{no_route}, and there are {}: say which with BCL_NODE or a nodes file",
                names.join(", ")
            ))
        }
    }
}

/// The interface whose address [`detect_node`] takes where there is no default route: the only one that is up and has an
/// IPv4 address, the loopback not counted.
pub fn only_interface() -> Option<String> {
    match &interfaces::outer().ok()?[..] {
        [(name, _)] => Some(name.clone()),
        _ => None,
    }
}

fn cannot_list(error: &std::io::Error) -> String {
    format!("the interfaces cannot be listed: {error}")
}

/// The interface of the default route with the lowest metric, from the text of [`ROUTES`].
fn default_interface(routes: &str) -> Option<&str> {
    let usable = routes.lines().skip(1).filter_map(default_route);
    usable
        .min_by_key(|(metric, _)| *metric)
        .map(|(_, name)| name)
}

/// Metric and interface of a line, if it is a default route that is up.
fn default_route(line: &str) -> Option<(u32, &str)> {
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    let [
        interface,
        destination,
        _gateway,
        flags,
        _refs,
        _use,
        metric,
        mask,
        ..,
    ] = columns[..]
    else {
        return None;
    };
    let is_up = u32::from_str_radix(flags, 16).ok()? & u32::from(libc::RTF_UP) != 0;
    let is_default = destination == "00000000" && mask == "00000000";
    (is_up && is_default).then_some((metric.parse().ok()?, interface))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";

    fn chosen(lines: &str) -> Option<String> {
        default_interface(&format!("{HEAD}{lines}")).map(str::to_owned)
    }

    #[test]
    fn lowest_metric_wins() {
        let lines = "wlan0 00000000 0101A8C0 0003 0 0 600 00000000 0 0 0\n\
                     eth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0\n\
                     eth1 0001A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
        assert_eq!(chosen(lines).as_deref(), Some("eth0"));
    }

    #[test]
    fn a_route_that_is_down_does_not_count() {
        assert_eq!(
            chosen("eth0 00000000 0101A8C0 0002 0 0 0 00000000 0 0 0\n"),
            None
        );
    }

    #[test]
    fn no_routes_no_interface() {
        assert_eq!(chosen(""), None);
        assert_eq!(default_interface(""), None);
    }

    #[test]
    fn detection_says_why() {
        let (_, why) = detect_node().unwrap();
        assert!(!why.is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ \\t\\n0-9a-fA-Fx]*") {
            default_interface(&text);
        }
    }
}
