//! The structures and constants of `bcl.h`, field by field. The tests of `testing/c` compare both.

#![expect(missing_docs, reason = "bcl.h says what they are")]

use std::ffi::{c_char, c_void};

use bcl_raw::{Address, Device};

/// `bcl_address`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CAddress {
    pub node: u32,
    pub port: u16,
    pub reserved: u16,
}

impl From<Address> for CAddress {
    fn from(address: Address) -> Self {
        Self {
            node: address.node.0.into(),
            port: address.port,
            reserved: 0,
        }
    }
}

impl From<CAddress> for Address {
    fn from(address: CAddress) -> Self {
        Self {
            node: address.node.into(),
            port: address.port,
        }
    }
}

/// `bcl_options`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct COptions {
    pub size: usize,
    pub flags: u32,
    pub node: u32,
    pub number: u16,
    pub reserved: u16,
    pub copy: u32,
    pub folder: *const c_char,
    pub key: *const c_char,
    pub allow_uids: *const u32,
    pub allow_uids_len: usize,
    pub device: u32,
    pub dead_after_ms: u32,
}

impl COptions {
    /// Everything as the environment says.
    pub const DEFAULT: Self = Self {
        size: 0,
        flags: 0,
        node: 0,
        number: 0,
        reserved: 0,
        copy: COPY_DEFAULT,
        folder: std::ptr::null(),
        key: std::ptr::null(),
        allow_uids: std::ptr::null(),
        allow_uids_len: 0,
        device: DEVICE_DEFAULT,
        dead_after_ms: 0,
    };
}

pub const ONE_THREAD: u32 = 1;

pub const COPY_DEFAULT: u32 = 0;
pub const COPY_AUTO: u32 = 1;
pub const COPY_STREAM: u32 = 2;
pub const COPY_SINGLE: u32 = 3;

pub const DEVICE_DEFAULT: u32 = 0;
pub const DEVICE_AUTO: u32 = 1;

/// `BCL_DEVICE_*` of one that moves messages.
pub const fn device_number(device: Device) -> u32 {
    match device {
        Device::Shm => 2,
        Device::Udp => 3,
        Device::Xdp => 4,
    }
}

/// `bcl_event`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CEvent {
    pub kind: u32,
    pub status: i32,
    pub peer: CAddress,
    pub cookie: u64,
    pub data: *const c_void,
    pub len: u64,
    pub offset: u64,
    pub value: u64,
    pub channel: u16,
    pub reserved: u16,
    pub cause: u32,
    pub cause_detail: i32,
    pub reserved2: u32,
    pub handle: [u64; 3],
    pub immediate: u64,
    pub reserved3: [u64; 3],
}

impl CEvent {
    pub const NOTHING: Self = Self {
        kind: 0,
        status: 0,
        peer: CAddress {
            node: 0,
            port: 0,
            reserved: 0,
        },
        cookie: 0,
        data: std::ptr::null(),
        len: 0,
        offset: 0,
        value: 0,
        channel: 0,
        reserved: 0,
        cause: 0,
        cause_detail: 0,
        reserved2: 0,
        handle: [0; 3],
        immediate: 0,
        reserved3: [0; 3],
    };
}

pub const EVENT_SENT: u32 = 1;
pub const EVENT_MESSAGE: u32 = 2;
pub const EVENT_RECEIVED: u32 = 3;
pub const EVENT_RMA_DONE: u32 = 4;
pub const EVENT_RMA_ARRIVED: u32 = 5;
pub const EVENT_PEER_UP: u32 = 6;
pub const EVENT_PEER_GONE: u32 = 7;

pub const CAUSE_CLOSED: u32 = 1;
pub const CAUSE_EXITED: u32 = 2;
pub const CAUSE_KILLED: u32 = 3;
pub const CAUSE_VANISHED: u32 = 4;
pub const CAUSE_SILENT: u32 = 5;
pub const CAUSE_RESTARTED: u32 = 6;
pub const CAUSE_PROTOCOL: u32 = 7;
