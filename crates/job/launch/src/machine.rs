//! What a launcher asks of the machine that it runs on.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Each connection takes descriptors, and the soft limit is 1024 by tradition only.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Where it is not allowed, the job may still be small enough.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// What this host calls itself.
pub fn host_name() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}
