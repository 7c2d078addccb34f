//! `bcl reflect` on regions of this process.

mod common;

use bcl_reflect::{Options, Region};
use common::Node;
use serde_json::Value;

fn join(node: &Node, name: &str, member: u16) -> Region {
    let options = Options::new(name, 4096).members(3).member(member);
    options.folder(node.folder()).join().unwrap()
}

#[test]
fn regions_and_their_members_are_shown() {
    let node = Node::new();
    let nothing = node.succeed(&["reflect"]);
    assert!(nothing.contains("no region has a member"), "{nothing}");
    assert_eq!(node.succeed(&["reflect", "--json"]), "");

    let (_a, _b) = (join(&node, "a", 0), join(&node, "b", 1));
    join(&node, "a", 2).leave().unwrap();
    let text = node.succeed(&["reflect", "a"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "region a: 4096 bytes, 1 of 3 members are there");
    assert!(lines[2].ends_with("       1  there"), "{text}");
    assert!(lines[3].starts_with("       2"), "{text}");
    assert!(lines[3].ends_with("       1  it has left"), "{text}");
    assert_eq!(lines.len(), 4);

    let text = node.succeed(&["reflect", "--json"]);
    let mut objects: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    objects.sort_by_key(|object| object["name"].to_string());
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["known"][1]["ended"], "it has left");
    assert_eq!(objects[1]["known"][0]["pid"], std::process::id());
    assert_eq!(objects[1]["members"], 3);
}
