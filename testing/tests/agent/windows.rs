//! Memory for windows. AGENT-6

use crate::lab::Lab;

#[test]
fn windows_lie_in_memory_of_the_port() {
    let lab = Lab::new(&[]);
    let mut one = lab.asker();
    let mut other = lab.asker();
    one.is_refused("memory 1", &["no port"]);
    one.tell("open 127.0.0.1 any");
    other.tell("open 127.0.0.1 any");
    // AGENT-6.1
    assert_eq!(one.tell("memory 65537"), "0 131072");
    one.is_refused("memory 0", &["no size"]);
    one.is_refused("memory 1073741825", &["1073741824"]);
    assert_eq!(one.tell("memory 1073741824"), "1 1073741824");
    // AGENT-6.2
    one.tell("bind 65535 0 131064 8 15");
    one.is_refused("bind 1 0 131064 16 7", &["do not lie in memory 0"]);
    one.is_refused("bind 1 0 4 8 7", &["multiple of 8"]);
    one.is_refused("bind 1 0 18446744073709551608 16 7", &["do not lie"]);
    one.is_refused("bind 1 0 0 8 16", &["0x10"]);
    one.is_refused("bind 1 2 0 8 7", &["no memory 2"]);
    other.is_refused("bind 1 0 0 8 7", &["no memory 0"]);
    other.is_refused("free 0", &["no memory 0"]);
    // AGENT-6.3
    one.is_refused("free 0", &["window 65535"]);
    one.tell("bind 65535 1 0 8 7");
    one.tell("free 0");
    one.is_refused("unbind 1", &["nothing is bound"]);
    one.tell("unbind 65535");
    one.tell("free 1");
    assert_eq!(lab.tables(), ["job-0", "port-0", "port-1"]);
}

#[test]
fn connections_are_entered_once() {
    let lab = Lab::new(&[]);
    let mut asker = lab.asker();
    asker.tell("open 127.0.0.1 any");
    asker.is_refused("enter 0", &["number 0"]);
    asker.tell("enter 4294967295");
    asker.is_refused("enter 4294967295", &["entered already"]);
    asker.is_refused("remove 1", &["not entered"]);
    assert_eq!(asker.tell("remove 4294967295"), "77");
    asker.tell("enter 4294967295");
}
