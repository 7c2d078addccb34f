//! Opening the shm tier of a port.

use std::sync::Arc;

use bcl_tier::Opening;

use crate::engine::port::ShmPort;
use crate::service::{CopyMode, Service, ShmShared};

impl ShmPort {
    /// From now on peers of the node can connect to the port.
    ///
    /// # Errors
    /// When the background thread cannot be started.
    pub fn open(opening: Opening, copy_mode: CopyMode) -> std::io::Result<Self> {
        let Opening {
            shared,
            bound,
            folder,
            claim,
        } = opening;
        let shared = Arc::new(ShmShared::new(shared, copy_mode));
        let service = Service::join(&shared.port)?;
        service.open_port(Arc::clone(&shared), bound, Arc::clone(&folder));
        Ok(Self::new(shared, service, folder, claim))
    }
}
