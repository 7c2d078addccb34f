//! What the conformance suite runs on: a way to open ports, for each device and each of its modes.

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use bcl::{
    Access, Address, Buffer, CopyMode, Device, Error, Event, NodeId, PeerInfo, Port, PortOptions,
    SharedPort, SystemMessage, Which,
};

/// A device, or a mode of one.
pub trait Fixture {
    /// Kind of port.
    type Port: PortLike;
    /// Says what the fixture is about.
    fn prepare(options: PortOptions) -> PortOptions;
    /// Opens a port.
    fn open(options: PortOptions) -> Result<Self::Port, Error>;
    /// Node number of a world, of which `unique` is the number among all that live now.
    fn node(_unique: u32) -> NodeId {
        NodeId::LOOPBACK
    }
    /// The tier that carries the messages.
    const DEVICE: Device = Device::Shm;
    /// How it copies long messages.
    const COPY_MODE: CopyMode = CopyMode::Single;
}

/// Shared memory, long messages copied by the kernel.
#[derive(Debug)]
pub struct SingleCopy;

/// Shared memory, long messages pipelined through the stream ring.
#[derive(Debug)]
pub struct Stream;

/// UDP, as between nodes. Worlds share the machine's UDP ports, so that each has an address of its own.
#[derive(Debug)]
pub struct Udp;

/// Shared memory, long messages copied whichever way is quicker, and ports that threads share.
#[derive(Debug)]
pub struct Shared;

impl Fixture for SingleCopy {
    type Port = Port;
    fn prepare(options: PortOptions) -> PortOptions {
        options.copy_mode(Self::COPY_MODE)
    }
    fn open(options: PortOptions) -> Result<Port, Error> {
        options.open()
    }
}

impl Fixture for Stream {
    type Port = Port;
    fn prepare(options: PortOptions) -> PortOptions {
        options.copy_mode(Self::COPY_MODE)
    }
    fn open(options: PortOptions) -> Result<Port, Error> {
        options.open()
    }
    const COPY_MODE: CopyMode = CopyMode::Stream;
}

impl Fixture for Udp {
    type Port = Port;
    fn prepare(options: PortOptions) -> PortOptions {
        options.device(Device::Udp)
    }
    fn open(options: PortOptions) -> Result<Port, Error> {
        options.open()
    }
    fn node(unique: u32) -> NodeId {
        let [_, high, middle, low] = unique.to_be_bytes();
        NodeId([127, 128 | high, middle, low].into())
    }
    const DEVICE: Device = Device::Udp;
}

impl Fixture for Shared {
    type Port = SharedPort;
    fn prepare(options: PortOptions) -> PortOptions {
        options.copy_mode(Self::COPY_MODE)
    }
    fn open(options: PortOptions) -> Result<SharedPort, Error> {
        options.open_shared()
    }
    const COPY_MODE: CopyMode = CopyMode::Auto;
}

/// Declares [`PortLike`] and implements it for both kinds of port, which have the same methods.
macro_rules! port_like {
    ($($(#[$doc:meta])* fn $name:ident(&mut self $(, $arg:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        /// What both kinds of port can do.
        pub trait PortLike: std::fmt::Debug {
            $($(#[$doc])* fn $name(&mut self $(, $arg: $type)*) $(-> $result)?;)*
            /// The descriptor's number.
            fn raw_fd(&mut self) -> Result<RawFd, Error>;
            /// A copy of a system message.
            fn copy_of(&mut self, message: &SystemMessage) -> Vec<u8>;
        }
        impl PortLike for Port {
            $(fn $name(&mut self $(, $arg: $type)*) $(-> $result)? { Port::$name(self $(, $arg)*) })*
            fn raw_fd(&mut self) -> Result<RawFd, Error> { Ok(self.fd()?.as_raw_fd()) }
            fn copy_of(&mut self, message: &SystemMessage) -> Vec<u8> { self.data(message).to_vec() }
        }
        impl PortLike for SharedPort {
            $(fn $name(&mut self $(, $arg: $type)*) $(-> $result)? { SharedPort::$name(self $(, $arg)*) })*
            fn raw_fd(&mut self) -> Result<RawFd, Error> { Ok(self.fd()?.as_raw_fd()) }
            fn copy_of(&mut self, message: &SystemMessage) -> Vec<u8> { self.data(message).to_vec() }
        }
    };
}

port_like! {
    /// As [`Port::address`].
    fn address(&mut self) -> Address;
    /// As [`Port::send_system`].
    fn send_system(&mut self, to: Address, data: &[u8], cookie: u64) -> Result<(), Error>;
    /// As [`Port::send_system_immediate`].
    fn send_system_immediate(&mut self, to: Address, data: &[u8], immediate: u64, cookie: u64) -> Result<(), Error>;
    /// As [`Port::send_immediate`].
    fn send_immediate(&mut self, to: Address, channel: u16, data: impl Into<Buffer>, immediate: u64, cookie: u64) -> Result<(), Error>;
    /// As [`Port::send_unreliable`].
    fn send_unreliable(&mut self, to: Address, data: &[u8]) -> Result<(), Error>;
    /// As [`Port::unreliable_max`].
    fn unreliable_max(&mut self, to: Address) -> Result<usize, Error>;
    /// As [`Port::send`].
    fn send(&mut self, to: Address, channel: u16, data: impl Into<Buffer>, cookie: u64) -> Result<(), Error>;
    /// As [`Port::cancel_send`].
    fn cancel_send(&mut self, to: Address, cookie: u64) -> Result<(), Error>;
    /// As [`Port::post`].
    fn post(&mut self, channel: u16, into: impl Into<Buffer>, cookie: u64) -> Result<(), Error>;
    /// As [`Port::cancel_post`].
    fn cancel_post(&mut self, channel: u16, cookie: u64) -> Result<(), Error>;
    /// As [`Port::bind`].
    fn bind(&mut self, window: u16, memory: impl Into<Buffer>, access: Access) -> Result<(), Error>;
    /// As [`Port::unbind`].
    fn unbind(&mut self, window: u16) -> Result<Buffer, Error>;
    /// As [`Port::put`].
    fn put(&mut self, to: Address, window: u16, offset: u64, data: impl Into<Buffer>, cookie: u64) -> Result<(), Error>;
    /// As [`Port::get`].
    fn get(&mut self, from: Address, window: u16, offset: u64, into: impl Into<Buffer>, cookie: u64) -> Result<(), Error>;
    /// As [`Port::fetch_add`].
    fn fetch_add(&mut self, peer: Address, window: u16, offset: u64, value: u64, cookie: u64) -> Result<(), Error>;
    /// As [`Port::compare_swap`].
    fn compare_swap(&mut self, peer: Address, window: u16, offset: u64, expected: u64, new: u64, cookie: u64) -> Result<(), Error>;
    /// As [`Port::poll`].
    fn poll(&mut self, which: Which) -> Result<Option<Event>, Error>;
    /// As [`Port::wait`].
    fn wait(&mut self, which: Which, timeout: Option<Duration>) -> Result<Option<Event>, Error>;
    /// As [`Port::release`].
    fn release(&mut self, message: SystemMessage) -> Result<(), Error>;
    /// As [`Port::peers`].
    fn peers(&mut self) -> Vec<PeerInfo>;
}

/// Writes each rule once and runs it on every fixture.
#[macro_export]
macro_rules! conformance {
    ($($(#[$doc:meta])* fn $name:ident($world:ident) $body:block)*) => {
        $($(#[$doc])* fn $name<F: $crate::Fixture>($world: &$crate::World<F>) $body)*
        mod single_copy {
            $(#[test] fn $name() { super::$name(&$crate::World::<$crate::fixture::SingleCopy>::new()) })*
        }
        mod udp {
            $(#[test] fn $name() { super::$name(&$crate::World::<$crate::fixture::Udp>::new()) })*
        }
        mod stream {
            $(#[test] fn $name() { super::$name(&$crate::World::<$crate::fixture::Stream>::new()) })*
        }
        mod shared {
            $(#[test] fn $name() { super::$name(&$crate::World::<$crate::fixture::Shared>::new()) })*
        }
    };
}
