//! Whether all this is what the headers of the machine say: assertions that its C compiler checks.

use std::fmt::Write;
use std::process::Command;

use super::define::{Field, Layout};
use super::*;

const LAYOUTS: &[&[Layout]] = &[
    atomics::LAYOUTS,
    av::LAYOUTS,
    cm::LAYOUTS,
    cntr::LAYOUTS,
    cq::LAYOUTS,
    domain::LAYOUTS,
    endpoint::LAYOUTS,
    eq::LAYOUTS,
    fabric::LAYOUTS,
    info::LAYOUTS,
    mr::LAYOUTS,
    msg::LAYOUTS,
    rma::LAYOUTS,
    tagged::LAYOUTS,
];

const CONSTANTS: &[&[(&str, u64)]] = &[
    atomics::CONSTANTS,
    av::CONSTANTS,
    cntr::CONSTANTS,
    cq::CONSTANTS,
    domain::CONSTANTS,
    endpoint::CONSTANTS,
    eq::CONSTANTS,
    errno::CONSTANTS,
    fabric::CONSTANTS,
    flags::CONSTANTS,
    info::CONSTANTS,
];

/// What libfabric 2 has at the end of these besides. The program or the library allocates them, and we do not look there.
const GROWN_AND_UNUSED: &[&str] = &["fi_domain_attr", "fi_mr_attr", "fi_ops_av"];

fn assert_that(c: &mut String, condition: &str, what: &str) {
    writeln!(c, "_Static_assert({condition}, \"{what}\");").unwrap();
}

fn assert_fields(c: &mut String, structure: &str, fields: &[Field]) {
    for (field, offset, size) in fields {
        let field = field.trim_start_matches("r#");
        let what = format!("{structure}.{field}");
        assert_that(
            c,
            &format!("offsetof(struct {structure}, {field}) == {offset}"),
            &what,
        );
        assert_that(
            c,
            &format!("sizeof(((struct {structure} *)0)->{field}) == {size}"),
            &what,
        );
    }
}

fn assert_layout(c: &mut String, layout: &Layout) {
    let name = layout.name;
    assert_fields(c, name, layout.fields);
    let size = format!("sizeof(struct {name})");
    if let Some(((major, minor), fields)) = layout.later {
        let first = fields[0].1;
        writeln!(
            c,
            "#if FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION) >= FI_VERSION({major}, {minor})"
        )
        .unwrap();
        assert_fields(c, name, fields);
        assert_that(c, &format!("{size} == {}", layout.size), name);
        c.push_str("#else\n");
        assert_that(c, &format!("{size} == {first}"), name);
        c.push_str("#endif\n");
    } else if GROWN_AND_UNUSED.contains(&name) {
        let compared = format!(
            "FI_MAJOR_VERSION > 1 ? {size} >= {0} : {size} == {0}",
            layout.size
        );
        assert_that(c, &compared, name);
    } else {
        assert_that(c, &format!("{size} == {}", layout.size), name);
    }
}

fn assertions() -> String {
    let mut c = String::new();
    let headers = [
        "fabric",
        "fi_atomic",
        "fi_cm",
        "fi_domain",
        "fi_endpoint",
        "fi_eq",
        "fi_errno",
        "fi_rma",
        "fi_tagged",
    ];
    for header in headers {
        writeln!(c, "#include <rdma/{header}.h>").unwrap();
    }
    c.push_str("#include <rdma/providers/fi_prov.h>\n");
    for layout in LAYOUTS.iter().copied().flatten() {
        assert_layout(&mut c, layout);
    }
    for (name, value) in CONSTANTS.iter().copied().flatten() {
        assert_that(
            &mut c,
            &format!("(unsigned long long)({name}) == {value}ull"),
            name,
        );
    }
    c
}

/// Compares with the headers in `BCL_TEST_FABRIC_HEADERS`, or those of the machine.
#[test]
fn the_headers_of_libfabric_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("abi.c");
    std::fs::write(&source, assertions()).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-fsyntax-only", "-w"]);
    if let Some(headers) = std::env::var_os("BCL_TEST_FABRIC_HEADERS") {
        compiler.arg("-I").arg(headers);
    }
    let output = compiler.arg(&source).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "are libfabric's headers there (Debian: libfabric-dev)? {said}"
    );
}
