//! A socket folder of one's own, with the ports that a test opens in it.

use std::cell::RefCell;
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use bcl::{JobKey, NodeId, PortOptions};

use crate::fixture::{Fixture, SingleCopy};
use crate::seat::{Seat, Seats};

/// The job of all worlds, as `BCL_JOB_KEY` has it.
pub(crate) const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// A socket folder with the ports that a test has opened in it. Its folder goes with it.
#[derive(Debug)]
pub struct World<F: Fixture = SingleCopy> {
    folder: PathBuf,
    node: NodeId,
    seats: Rc<RefCell<Seats<F>>>,
    _fixture: PhantomData<F>,
}

impl<F: Fixture> World<F> {
    /// An empty folder.
    #[allow(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = format!("bcl-test-{process}-{number}");
        Self {
            folder: std::env::temp_dir().join(name),
            node: F::node((process & 0xffff) << 4 | (number & 15)),
            seats: Rc::default(),
            _fixture: PhantomData,
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Node number of all its ports.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The job of all its ports.
    pub fn key() -> JobKey {
        JobKey::from_hex(KEY).expect("it is written in hex")
    }

    /// Options for a port in it.
    pub fn options(&self) -> PortOptions {
        let options = PortOptions::new()
            .folder(&self.folder)
            .node(self.node)
            .key(Self::key());
        F::prepare(options)
    }

    /// Options for a port on raw memory in it.
    pub fn raw_options(&self) -> bcl_raw::Options {
        bcl_raw::Options {
            folder: Some(self.folder.clone()),
            node: Some(self.node),
            key: Some(Self::key()),
            device: Some(Some(F::DEVICE)),
            copy_mode: Some(F::COPY_MODE),
            ..bcl_raw::Options::default()
        }
    }

    /// Opens a port.
    pub fn open(&self) -> Seat<F> {
        self.open_with(self.options())
    }

    /// Opens a port with options of one's own.
    pub fn open_with(&self, options: PortOptions) -> Seat<F> {
        let port = F::open(options).expect("a port opens in a fresh folder");
        Seat::new(port, &self.seats)
    }

    /// Two ports.
    pub fn pair(&self) -> (Seat<F>, Seat<F>) {
        (self.open(), self.open())
    }

    /// Names in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl<F: Fixture> Drop for World<F> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
