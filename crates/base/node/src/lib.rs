//! How the processes of one node find, authenticate and watch each other.
//!
//! - [`detect_node`]: which node this is.
//! - [`Folder`]: the rendezvous folder. A port is a Unix socket in it, so whoever can connect to
//!   the name has found the port; there is no daemon and no registry.
//! - [`fdpass`]: datagrams with file descriptors beside them.
//! - [`JobKey`] and [`handshake`]: both ends prove that they belong to the same job, without
//!   telling the key. [`uid_allowed`] separates users.
//! - [`Nodes`]: the file that names nodes and says where their packets go, for jobs on several hosts.
//! - [`watch`]: when a peer process has ended, and how.
//! - [`read_text`]: files that somebody has named, and that may be none.
//! - [`sandbox`]: what to do where system calls are refused.
//!
//! Everything that arrives from another process is checked here before anybody uses it.

mod credentials;
mod detect;
pub mod fdpass;
mod file;
mod folder;
pub mod handshake;
mod interfaces;
mod key;
mod nodes;
pub mod sandbox;
mod sockopt;
mod user_namespace;
pub mod watch;

pub use credentials::{PeerCredentials, is_of_own_user, peer_credentials, uid_allowed};
pub use detect::{DetectError, detect_node, only_interface};
pub use file::{FileError, read_text};
pub use folder::{Bound, ConnectError, Folder, FolderError, Seat};
pub use interfaces::all as own_addresses;
pub use key::{JobKey, KeyError};
pub use nodes::{Node, Nodes, NodesError, NodesOrigin, ResolveError};
