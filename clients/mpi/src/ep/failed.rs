//! Operations that have failed: what a program is told of them, and its user.

use bcl_adi::{Completion, Ended, OpError};
use bcl_types::Address;

use super::data::Data;
use crate::abi::*;
use crate::cntr::Tally;
use crate::cq::{Sink, queue};
use crate::log::{self, Level};

impl Data {
    /// Tells the queue, the counter and the user of one that has failed.
    #[cold]
    pub(super) fn tell_failed(
        &self,
        sink: Option<&Sink>,
        tally: Option<&Tally>,
        ended: &Completion,
        error: OpError,
    ) {
        let mut operation = self.completion(ended);
        let mut overflow_len = 0;
        if let OpError::Truncated {
            len_bytes,
            capacity_bytes,
        } = error
        {
            operation.len = capacity_bytes as usize;
            overflow_len = (len_bytes - capacity_bytes) as usize;
        }
        let text = format!("{} {}: {}", names_of(ended.kind), ended.peer, why(&error));
        self.say(ended.peer, &error, &text);
        if let Some(sink) = sink {
            sink.push_failed(queue::Failed {
                operation,
                overflow_len,
                err: code_of(&error),
                text,
            });
        }
        if let Some(tally) = tally {
            tally.count_failed();
        }
    }

    /// MPI libraries do not show what a provider has to say: it says so itself. Of what all operations with a lost peer end with,
    /// once.
    #[cold]
    pub(super) fn say(&self, peer: Address, error: &OpError, text: &str) {
        let is_loss = match error {
            OpError::Canceled | OpError::Truncated { .. } => return,
            OpError::NoPort | OpError::PeerGone(_) | OpError::Unreachable => true,
            OpError::KeyMismatch | OpError::NotAllowed | OpError::VersionMismatch { .. } => true,
            _ => false,
        };
        if !is_loss || !self.mourned.with(|peers| peers.insert(peer)) {
            return log::say(Level::Warn, text);
        }
        // Among what all processes of a job say.
        let names = rustix::system::uname();
        let host = names.nodename().to_string_lossy();
        let pid = std::process::id();
        log::say(Level::Loss, &format!("process {pid} on {host}: {text}"));
    }
}

fn names_of(kind: Ended) -> &'static str {
    match kind {
        Ended::Send => "a message to",
        Ended::Receive => "a message from",
        Ended::Put => "writing into memory of",
        Ended::Get => "reading memory of",
        Ended::Atomic => "an atomic operation on memory of",
        Ended::Written => "what was written by",
        Ended::Lost => "what was sent to",
    }
}

/// As programs of libfabric know it: what others call windows, they call memory regions.
fn why(error: &OpError) -> String {
    match error {
        OpError::NoWindow => "it has no memory region of that key".into(),
        OpError::RmaDenied => "its memory region was not registered for that (FI_REMOTE_READ, FI_REMOTE_WRITE)".into(),
        OpError::RmaRange => "that reaches outside of its memory region: addresses are those of the program or begin at 0, as mr_mode says".into(),
        error => error.to_string(),
    }
}

/// As libfabric calls it.
pub(super) fn code_of(error: &OpError) -> i32 {
    match error {
        OpError::Truncated { .. } => FI_ETRUNC,
        OpError::Canceled => FI_ECANCELED,
        OpError::NoPort => libc::ECONNREFUSED,
        OpError::PeerGone(_) => libc::ECONNRESET,
        OpError::Unreachable => libc::EHOSTUNREACH,
        OpError::KeyMismatch | OpError::NotAllowed => FI_EACCES,
        OpError::NoMemory => FI_ENOMEM,
        OpError::NoDescriptors => libc::EMFILE,
        OpError::NoWindow => libc::EKEYREJECTED,
        OpError::RmaDenied => FI_EACCES,
        OpError::RmaRange => FI_EINVAL,
        OpError::Fault => libc::EFAULT,
        OpError::Protocol | OpError::VersionMismatch { .. } => libc::EPROTO,
    }
}
