//! Where the agent is found ([AGENT-1.1]).

use std::env;
use std::path::PathBuf;

/// The agent's socket unless something else is said.
pub const DEFAULT_SOCKET: &str = "/run/bcl/agent.sock";
/// The variable that says something else.
pub const SOCKET_VARIABLE: &str = "BCL_AGENT";

/// The socket that programs of this environment use.
pub fn default_socket() -> PathBuf {
    env::var_os(SOCKET_VARIABLE)
        .filter(|path| !path.is_empty())
        .map_or_else(|| DEFAULT_SOCKET.into(), PathBuf::from)
}
