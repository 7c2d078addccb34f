//! A daemon keeps the capabilities that it needs and gives up all others, for good.

use std::io;

use rustix::process::{DumpableBehavior, Resource, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Capabilities that this process lacks.
///
/// # Errors
/// When the kernel does not tell.
pub fn missing(needed: CapabilitySet) -> io::Result<CapabilitySet> {
    Ok(needed - capabilities(None)?.effective)
}

/// Keeps no capability but these, so that neither this process nor a program that it were made to start can get
/// another. Call before any thread starts.
///
/// # Errors
/// When the kernel refuses.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let own = capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        for capability in (CapabilitySet::all() - kept).iter() {
            match remove_capability_from_bounding_set(capability) {
                // Newer than this kernel.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    let kept = own.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    // Secrets of those who are served pass through here: no core files.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// As many descriptors as the kernel lets us have: each process that is served needs some, and the soft limit is 1024 by
/// tradition only.
pub fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer it serves fewer.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Names as `setcap` and systemd write them.
pub fn names(set: CapabilitySet) -> String {
    let known = [
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
        (CapabilitySet::PERFMON, "CAP_PERFMON"),
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    ];
    let named = known.iter().filter(|(one, _)| set.contains(*one));
    named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}
