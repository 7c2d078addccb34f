//! The layouts here and those of the interface program's own headers are the same: clang is asked.

use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use crate::PAGE_BYTES;
use crate::control::*;
use crate::counters::{Counters, CountersPage};
use crate::record::*;
use crate::tables::*;

/// What has to be true of the headers, as assertions in C.
#[derive(Default)]
struct Claims(Vec<String>);

impl Claims {
    fn is(&mut self, c: &str, value: usize) {
        self.0.push(format!(
            "_Static_assert({c} == {value}, \"{c} is {value} in Rust\");"
        ));
    }

    fn size(&mut self, c: &str, len_bytes: usize) {
        self.is(&format!("sizeof(struct {c})"), len_bytes);
    }

    fn field(&mut self, c: &str, field: &str, at: usize, len_bytes: usize) {
        self.is(&format!("__builtin_offsetof(struct {c}, {field})"), at);
        self.is(&format!("sizeof(((struct {c} *)0)->{field})"), len_bytes);
    }

    /// Largest number of entries of a table.
    fn room(&mut self, table: &str, entries: u32) {
        let c = format!("sizeof(*{table}.max_entries) / sizeof(int)");
        self.is(&c, entries as usize);
    }
}

fn len_of_field<T, F>(_: impl Fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Says of a type that its fields are those of a struct, all of them and under these names.
macro_rules! same {
    ($claims:ident, $rust:ident, $c:literal, $($field:tt $name:literal),*) => {
        $claims.size($c, size_of::<$rust>());
        let mut fields = 0;
        $(
            let len_bytes = len_of_field(|value: &$rust| &value.$field);
            $claims.field($c, $name, offset_of!($rust, $field), len_bytes);
            fields += len_bytes;
        )*
        assert_eq!(fields, size_of::<$rust>(), "all fields of {}", $c);
    };
}

fn tables(claims: &mut Claims) {
    same!(claims, PortKey, "port_key", address "address", udp_port "udp_port", zero "zero");
    same!(claims, PortIndex, "port", index "index");
    same!(claims, ConnectionKey, "connection_key", port "port", id "id");
    same!(
        claims, Connection, "connection", lock "lock", job "job", theirs "theirs", ours "ours", expected "expected",
        ahead "ahead", due "due", is_refusing "is_refusing", refused_message "refused_message",
        refused_sequence "refused_sequence", taken "taken", peer_address "peer_address", peer_udp_port "peer_udp_port",
        peer_id "peer_id"
    );
    same!(claims, NhKey, "nh_key", 0 "words");
    same!(
        claims, Outcome, "outcome", operation "operation", owner "owner", is_done "is_done", status "status",
        zero "zero", value "value", start "start"
    );
    same!(claims, Outcomes, "outcomes", 0 "slots");
    same!(claims, WindowKey, "window_key", port "port", window "window");
    same!(claims, Window, "window", memory "memory", access "access", base "base", len "len");
    for (c, value) in [
        ("MCP", Outcome::MCP.into()),
        ("PROGRAM", Outcome::PROGRAM.into()),
        ("ACCESS_GET", Window::GET),
        ("ACCESS_PUT", Window::PUT),
        ("ACCESS_ATOMIC", Window::ATOMIC),
        ("ACCESS_NOTIFY", Window::NOTIFY),
    ] {
        claims.is(c, value as usize);
    }
    claims.is("NH_KEY_LEN", NH_KEY_LEN);
    claims.is("BLOCK", BLOCK_BYTES);
    claims.room("ports", PORTS_MAX);
    claims.room("memories", MEMORIES_MAX);
    claims.room("jobs", JOBS_MAX);
}

fn packets(claims: &mut Claims) {
    claims.size("header", bcl_wire::HEADER_LEN);
    for (c, value) in [
        ("MAGIC", bcl_wire::MAGIC.into()),
        ("VERSION", bcl_wire::VERSION.into()),
        ("PAYLOAD_MAX", bcl_wire::PAYLOAD_MAX),
        ("LONG_SYSTEM_MAX", bcl_types::LONG_SYSTEM_MAX),
        ("PUSHED_MAX", bcl_wire::PUSHED_MAX as usize),
        ("READ_MAX", bcl_wire::READ_MAX as usize),
        ("SLOTS", bcl_wire::SLOTS.into()),
        ("UDP_PORT_OFFSET", bcl_wire::udp_port::UDP_BASE.into()),
        ("PORTS", bcl_types::LAST_REACHABLE_PORT.into()),
    ] {
        claims.is(c, value);
    }
}

fn control_page(claims: &mut Claims) {
    claims.size("control", PAGE_BYTES);
    claims.is("GRANTS", GRANTS);
    claims.is("WINDOWS", WINDOWS);
    claims.is("LONG_PUT", LONG_PUT_BYTES as usize);
    for (field, at, len_bytes) in [
        ("sleeps", SLEEPS_AT, 4),
        ("refuses_system", REFUSE_SYSTEM_AT, 4),
        ("grant_count", GRANT_COUNT_AT, 4),
        ("refuses_early", REFUSE_EARLY_AT, 4),
        ("tells_puts", TELL_PUTS_AT, 4),
        ("grants", GRANTS_AT, GRANTS * GRANT_BYTES),
        ("given_back", GIVEN_BACK_AT, GIVEN_BACK_SLOTS),
        ("offered", OFFERED_AT, WINDOWS / 8),
    ] {
        claims.field("control", field, at, len_bytes);
    }
    for (field, at, len_bytes) in [
        ("connection", GRANT_CONNECTION_AT, 4),
        ("message", GRANT_MESSAGE_AT, 4),
        ("window", GRANT_WINDOW_AT, 4),
        ("place", GRANT_PLACE_AT, 8),
        ("length", GRANT_LEN_AT, 8),
    ] {
        claims.field("grant", field, at, len_bytes);
    }
}

fn records(claims: &mut Claims) {
    claims.size("record_head", HEAD_BYTES);
    for (field, at, len_bytes) in [
        ("source", 0, 16),
        ("source_port", SOURCE_PORT_AT, 2),
        ("flags", FLAGS_AT, 2),
        ("payload_len", LEN_AT, 4),
        ("ack", ACK_AT, 4),
        ("place", PLACE_AT, 4),
        ("packet", HEADER_AT, bcl_wire::HEADER_LEN),
    ] {
        claims.field("record_head", field, at, len_bytes);
    }
    claims.is("IS_PLACED", PLACED.into());
    claims.is("IS_ACKED", ACKED.into());
    claims.is("IS_EARLY", EARLY.into());
    claims.is("IS_BARE", BARE.into());
    claims.is("KERNEL_HEAD", PREFIX_BYTES);
    for (c, size) in ["SMALL", "MIDDLE", "LARGE"].into_iter().zip(SIZES) {
        claims.is(c, size);
    }
}

fn counters(claims: &mut Claims) {
    for (index, name) in Counters::NAMES.iter().enumerate() {
        claims.is(&format!("COUNT_{}", name.to_uppercase()), index);
    }
    claims.is("COUNTERS", Counters::NAMES.len());
    claims.size("counters", size_of::<CountersPage>());
    assert_eq!(size_of::<CountersPage>(), PAGE_BYTES);
}

/// What clang says to a text beside the headers; nothing if all is well.
fn compiled(claims: &[String]) -> String {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../bpf/mcp");
    let text = format!("#include \"ring.h\"\n{}\n", claims.join("\n"));
    let name = format!("bcl-layout-{}-{}.c", std::process::id(), claims.len());
    let file = std::env::temp_dir().join(name);
    fs::write(&file, text).expect("a file can be written");
    let clang = std::env::var("BCL_CLANG").unwrap_or_else(|_| "clang".to_owned());
    let output = Command::new(clang)
        .args(["-target", "bpf", "-fsyntax-only"])
        .arg(format!(
            "-I/usr/include/{}-linux-gnu",
            std::env::consts::ARCH
        ))
        .arg("-I")
        .arg(headers)
        .arg(&file)
        .output()
        .expect("clang is there, or the interface program could not be compiled");
    let _ = fs::remove_file(&file);
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_program_has_the_same_layouts() {
    let mut claims = Claims::default();
    packets(&mut claims);
    tables(&mut claims);
    control_page(&mut claims);
    records(&mut claims);
    counters(&mut claims);
    assert_eq!(compiled(&claims.0), "");
}

/// The question can be answered with no.
#[test]
fn a_field_elsewhere_is_found() {
    let mut claims = Claims::default();
    claims.field("connection", "due", 40, 4);
    assert!(compiled(&claims.0).contains("is 40 in Rust"));
}
