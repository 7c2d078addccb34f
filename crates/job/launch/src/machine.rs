//! What this host is called.

/// What this host calls itself.
pub fn host_name() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}

/// What a user may call it: that name, without its domain, and `localhost`.
pub fn own_names() -> [String; 3] {
    let own = host_name();
    let short = own.split('.').next().unwrap_or_default().to_owned();
    [own, short, "localhost".into()]
}
