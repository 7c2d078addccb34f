//! Compiles `bpf/mcp.bpf.c` into the crate.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, process};

fn main() {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../../bpf");
    let source = folder.join("mcp.bpf.c");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed={}", folder.join("mcp").display());
    println!("cargo::rerun-if-env-changed=BCL_CLANG");
    if let Err(message) = compile(&source, &PathBuf::from(variable("OUT_DIR")).join("mcp.o")) {
        println!("cargo::error={message}");
        process::exit(1);
    }
}

fn compile(source: &Path, object: &Path) -> Result<(), String> {
    let clang = env::var("BCL_CLANG").unwrap_or_else(|_| "clang".to_owned());
    // Where Debian keeps <asm/types.h>; elsewhere it stands where every compiler looks.
    let multiarch = format!(
        "-I/usr/include/{}-linux-gnu",
        variable("CARGO_CFG_TARGET_ARCH")
    );
    let output = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(["-target", "bpf", "-mcpu=v3", &multiarch, "-c"])
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .map_err(|error| {
            format!(
                "the interface program needs clang to be compiled, and '{clang}' cannot be run ({error}): \
                 'apt install clang libbpf-dev', or scripts/bootstrap.sh build, or name another by BCL_CLANG"
            )
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let hint = match said.contains("file not found") {
        true => " (headers are missing: 'apt install libbpf-dev libc6-dev')",
        false => "",
    };
    Err(format!(
        "{clang} cannot compile {}{hint}: {}",
        source.display(),
        said.replace('\n', " | ")
    ))
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
