//! Status words of FIN cells: how the receiver of a message says how it ended ([SHM-4.6]).

use bcl_types::OpError;

const OK: u64 = 0;
const TRUNCATED: u64 = 1;
const CANCELED: u64 = 2;
const FAULT: u64 = 3;
const NO_MEMORY: u64 = 4;
const OTHER: u64 = 5;

/// Status, and a detail beside it.
pub fn encode(result: Result<(), OpError>) -> (u64, u64) {
    match result {
        Ok(()) => (OK, 0),
        Err(OpError::Truncated { capacity_bytes, .. }) => (TRUNCATED, capacity_bytes),
        Err(OpError::Canceled) => (CANCELED, 0),
        Err(OpError::Fault) => (FAULT, 0),
        Err(OpError::NoMemory) => (NO_MEMORY, 0),
        Err(_) => (OTHER, 0),
    }
}

/// What a peer's status means for a message of `len_bytes`.
pub fn decode(status: u64, detail: u64, len_bytes: u64) -> Result<(), OpError> {
    match status {
        OK => Ok(()),
        TRUNCATED => Err(OpError::Truncated {
            len_bytes,
            capacity_bytes: detail,
        }),
        CANCELED => Err(OpError::Canceled),
        FAULT => Err(OpError::Fault),
        NO_MEMORY => Err(OpError::NoMemory),
        _ => Err(OpError::Protocol),
    }
}
