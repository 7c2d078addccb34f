//! What `bcl_port *` points to.

use std::collections::BTreeMap;
use std::sync::Arc;

use bcl_cface::{Handle, Inside};
use bcl_raw::{Channels, Error, HasPort, RawPort, Region, RegionCache};

use crate::code::Bcl;

/// `bcl_port`
pub type CPort = Handle<Open>;

/// An open port and what the C API keeps beside it.
pub struct Open {
    pub raw: RawPort,
    pub cache: RegionCache,
    /// DMA buffers that windows lie in.
    pub windows: BTreeMap<u16, Arc<Region>>,
}

impl Open {
    pub fn new(raw: RawPort) -> Self {
        Self {
            raw,
            cache: RegionCache::default(),
            windows: BTreeMap::new(),
        }
    }
}

impl Inside for Open {
    type Face = Bcl;
    const MAGIC: u64 = u64::from_le_bytes(*b"BCLport1");
    const NAME: &str = "port";
    const OPENER: &str = "bcl_open";

    fn close(&mut self) -> Result<(), Error> {
        self.raw.close()
    }
}

impl HasPort for Open {
    type Matcher = Channels;

    fn port(&mut self) -> &mut RawPort {
        &mut self.raw
    }
}
