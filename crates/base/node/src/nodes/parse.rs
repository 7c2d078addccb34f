//! From text to nodes. Whatever is wrong is told with its line and what to write instead.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use bcl_types::NodeId;
use serde::Deserialize;
use toml::Spanned;

use super::Node;

/// Addresses of one node: two rails today, and room to list what else it has.
const ADDRESSES_MAX: usize = 8;

/// What is wrong in a nodes file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// What, and what to write.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    node: BTreeMap<Spanned<String>, Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    number: Option<Spanned<String>>,
    addresses: Option<Spanned<Vec<Spanned<String>>>>,
}

/// The nodes of a file's text, by name.
pub fn nodes(text: &str) -> Result<Vec<Node>, Mistake> {
    let at = |span: Range<usize>, what: String| Mistake {
        line: line_of(text, span.start),
        text: what,
    };
    let file: File = toml::from_str(text).map_err(|error| {
        let what = format!(
            "{}; a node is written [node.NAME], number = \"10.0.0.1\", addresses = [\"10.0.0.1\"]",
            error.message().trim_end().replace('\n', ", ")
        );
        at(error.span().unwrap_or_default(), what)
    })?;
    let mut nodes = Vec::with_capacity(file.node.len());
    let mut owners = BTreeMap::new();
    for (name, entry) in file.node {
        let node = node(&name, &entry, &at)?;
        let number = entry.get_ref().number.as_ref();
        let place = number.map_or_else(|| entry.span(), Spanned::span);
        let taken = |what: String, owner: &String| {
            at(
                place.clone(),
                format!(
                    "{what} of node '{}' is already that of node '{owner}'",
                    node.name
                ),
            )
        };
        let of_others = owners.insert(Owned::Number(node.id), node.name.clone());
        if let Some(owner) = of_others {
            return Err(taken(format!("number {}", node.id), &owner));
        }
        for address in &node.addresses {
            let of_others = owners.insert(Owned::Address(*address), node.name.clone());
            if let Some(owner) = of_others {
                return Err(taken(format!("address {address}"), &owner));
            }
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// What only one node can have, and that only once.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Owned {
    Number(NodeId),
    Address(IpAddr),
}

fn node(
    name: &Spanned<String>,
    entry: &Spanned<Entry>,
    at: &impl Fn(Range<usize>, String) -> Mistake,
) -> Result<Node, Mistake> {
    let text = name.get_ref();
    if !is_name(text) {
        let what = format!(
            "'{text}' is not a name: write letters, digits, '-', '_' and '.', and something that is not an IPv4 address"
        );
        return Err(at(name.span(), what));
    }
    let Some(number) = &entry.get_ref().number else {
        let what = format!("node '{text}' has no number: write number = \"10.0.0.1\"");
        return Err(at(name.span(), what));
    };
    let id = number.get_ref().parse::<NodeId>();
    let id = id.map_err(|error| at(number.span(), error.to_string()))?;
    let addresses = match &entry.get_ref().addresses {
        None => vec![id.0.into()],
        Some(given) if (1..=ADDRESSES_MAX).contains(&given.get_ref().len()) => {
            let each = given.get_ref().iter().map(|address| {
                usable(address.get_ref()).ok_or_else(|| {
                    let what = format!(
                        "'{}' is no address of a host: write IPv4 or IPv6, as in \"192.168.7.2\" or \"fd00::2\"; \
                         names and link-local addresses do not do",
                        address.get_ref()
                    );
                    at(address.span(), what)
                })
            });
            each.collect::<Result<_, _>>()?
        }
        Some(given) => {
            let what = format!(
                "{} addresses for node '{text}': write 1 to {ADDRESSES_MAX}, or none, and its number is the address",
                given.get_ref().len()
            );
            return Err(at(given.span(), what));
        }
    };
    Ok(Node {
        name: text.clone(),
        id,
        addresses,
    })
}

/// Names stand before a colon or between commas, and become words of a command line.
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins_well
        && text.len() <= 255
        && text.bytes().all(is_allowed)
        && text.parse::<IpAddr>().is_err()
}

fn usable(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    let is_usable = match address {
        IpAddr::V4(ip) => !ip.is_broadcast(),
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    (is_usable && !address.is_unspecified() && !address.is_multicast()).then_some(address)
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::super::Nodes;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_mistake_has_its_line_and_what_to_write() {
        for (text, line, hint) in [
            ("[node.a]\nnumber = \"10.0.0\"\n", 2, "as in 10.0.0.1"),
            ("[node.a]\nnumber = 7\n", 2, "number = \"10.0.0.1\""),
            ("\n\n[node.a]\n", 3, "has no number"),
            (
                "[node.a]\nnumber = \"10.0.0.1\"\nadress = []\n",
                3,
                "`addresses`",
            ),
            ("[nodes.a]\nnumber = \"10.0.0.1\"\n", 1, "[node.NAME]"),
            ("[node.a\n", 1, "[node.NAME]"),
            ("[node.\"a b\"]\nnumber = \"10.0.0.1\"\n", 1, "letters"),
            ("[node.\"-a\"]\nnumber = \"10.0.0.1\"\n", 1, "letters"),
            (
                "[node.\"10.0.0.1\"]\nnumber = \"10.0.0.1\"\n",
                1,
                "not an IPv4",
            ),
            (
                "[node.a]\nnumber = \"10.0.0.1\"\naddresses = [\n \"10.0.0.1\",\n \"fe80::1\",\n]\n",
                5,
                "link-local",
            ),
            (
                "[node.a]\nnumber = \"10.0.0.1\"\naddresses = []\n",
                3,
                "1 to 8",
            ),
            (
                "[node.a]\nnumber = \"10.0.0.1\"\n[node.b]\nnumber = \"10.0.0.1\"\n",
                4,
                "already that of node 'a'",
            ),
            (
                "[node.a]\nnumber = \"10.0.0.1\"\n[node.b]\nnumber = \"10.0.0.2\"\naddresses = [\"10.0.0.1\"]\n",
                4,
                "address 10.0.0.1 of node 'b'",
            ),
        ] {
            let mistake = nodes(text).unwrap_err();
            let told = mistake.to_string();
            assert!(
                told.starts_with(&format!("line {line}: ")),
                "{text}: {told}"
            );
            assert!(told.contains(hint), "{text}: {told}");
            assert!(!told.contains('\n'), "{text}: {told}");
        }
    }

    #[test]
    fn nothing_is_no_nodes() {
        assert_eq!(nodes("# only a remark\n"), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = nodes(&text);
        }

        #[test]
        fn any_text_of_the_right_words_is_read_or_refused(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "[", "]", "node", ".", "a", "b", "number", "addresses", "=", "\"", "'", ",", "\n",
                    "10.0.0.1", "fd00::1", "{", "}", "#", " ", "\"10.0.0.2\"", "é",
                ]),
                0..60,
            ),
        ) {
            if let Err(mistake) = nodes(&words.concat()) {
                prop_assert!(mistake.line <= 1 + words.concat().matches('\n').count());
            }
        }

        #[test]
        fn what_is_written_is_read(numbers in prop::collection::btree_map("[a-z][a-z0-9-]{0,9}", 1u32..0xdfff_ffff, 0..9)) {
            let mut text = String::new();
            let mut expected = BTreeMap::new();
            for (name, number) in numbers {
                let id = NodeId(number.into());
                if expected.values().any(|other| *other == id) {
                    continue;
                }
                text += &format!("[node.{name}]\nnumber = \"{id}\"\n");
                // Of some, other addresses: one of each kind.
                if number % 2 == 0 {
                    text += &format!("addresses = [\"fd00::{:x}:{:x}\", \"{id}\"]\n", number >> 16, number & 0xffff);
                }
                expected.insert(name, id);
            }
            let read = nodes(&text).unwrap();
            let written = Nodes { nodes: read.clone() }.to_string();
            prop_assert_eq!(nodes(&written).unwrap(), read.clone());
            let read: BTreeMap<_, _> = read.into_iter().map(|node| (node.name, node.id)).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
