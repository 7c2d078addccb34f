//! The interface program outlives who has loaded it, is found again, and sits on an interface.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bcl_layout::tables::{PortIndex, PortKey};
use bcl_mcp::{Attached, Error, Mcp, Mode, ModeChoice};
use bcl_testing::netns::{INTERFACE, cluster};

use crate::kernel::load;

/// A bpf file system of the test's own.
struct Pins(PathBuf);

impl Pins {
    fn new(name: &str) -> Self {
        let name = format!("bcl-pins-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        let status = Command::new("mount")
            .args(["-t", "bpf", "bpf"])
            .arg(&path)
            .status();
        assert!(status.expect("mount starts").success());
        Self(path)
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn what_is_pinned_is_found_again() {
    let Some(mcp) = load() else {
        return;
    };
    let pins = Pins::new("found");
    let folder = pins.0.join("bcl/main");
    let at = PortKey::new([10, 77, 0, 1].into(), 20_007);
    mcp.tables
        .ports
        .insert(&at, &PortIndex { index: 5 })
        .expect("a port");
    mcp.tables.make_port(5, 4096).expect("maps");
    mcp.pin(&folder).expect("pins");
    drop(mcp);

    let mcp = Mcp::open(&folder).expect("it is there");
    assert_eq!(mcp.tables.ports.keys().expect("a table"), [at]);
    assert_eq!(
        mcp.tables.ports.get(&at).expect("a table"),
        Some(PortIndex { index: 5 })
    );
    assert!(mcp.tables.port_maps(5).expect("tables").is_some());
    assert!(mcp.tables.port_maps(6).expect("tables").is_none());
    mcp.tables.drop_port(5).expect("tables");
    assert!(mcp.tables.port_maps(5).expect("tables").is_none());
    mcp.tables.await_packets().expect("it waits");

    // A table of another version is told by its name: two change places.
    let swap = |a: &str, b: &str| {
        fs::rename(folder.join(a), folder.join("aside")).expect("a pin");
        fs::rename(folder.join(b), folder.join(a)).expect("a pin");
        fs::rename(folder.join("aside"), folder.join(b)).expect("a pin");
    };
    swap("ports", "jobs");
    let error = Mcp::open(&folder)
        .expect_err("not these tables")
        .to_string();
    assert!(
        error.contains("another version") && error.contains("ports"),
        "{error}"
    );
    swap("ports", "jobs");
    assert!(Mcp::open(&folder).is_ok());
    fs::remove_file(folder.join("windows")).expect("a pin");
    let error = Mcp::open(&folder).expect_err("one is missing").to_string();
    assert!(error.contains("windows"), "{error}");
}

const NATIVE: ModeChoice = ModeChoice::Only(Mode::Native);

#[test]
fn on_an_interface() {
    let Some(mcp) = load() else {
        return;
    };
    let Some(cluster) = cluster(2) else {
        return;
    };
    let pins = Pins::new("link");
    let host = cluster.host(0);
    let interface = INTERFACE;
    let link = pins.0.join("link");
    let inside = host.enter(|| {
        let attached = mcp.attach(interface, NATIVE).expect("it attaches");
        assert_eq!(attached.mode, Mode::Native, "veth has a place for it");
        attached.pin(&link).expect("a pin");
        drop(attached);
        let other = Mcp::load().expect("a second one");
        let error = other
            .attach(interface, ModeChoice::Auto)
            .expect_err("there is one already");
        assert!(
            matches!(&error, Error::Occupied { occupant, .. } if occupant.name == "mcp" && occupant.pins == [link.clone()]),
            "{error}"
        );
        let again = Attached::open(&link, interface).expect("the pin");
        assert_eq!(again.mode, Mode::Native);
        Attached::remove(&link).expect("a pin");
        assert!(!link.exists());
        drop(again);
        // It is free at once; what answers nobody may hear is not chosen unasked, and loopback has no driver's place.
        assert_eq!(
            other
                .attach(interface, ModeChoice::Auto)
                .expect("it is free")
                .mode,
            Mode::Generic
        );
        assert!(mcp.attach("lo", NATIVE).is_err());
        assert_eq!(
            mcp.attach("lo", ModeChoice::Auto)
                .expect("it attaches")
                .mode,
            Mode::Generic
        );
        assert!(matches!(
            mcp.attach("nosuch", ModeChoice::Auto),
            Err(Error::NoInterface(_))
        ));
    });
    inside.expect("the namespace is there");
}
