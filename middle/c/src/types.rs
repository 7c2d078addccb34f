//! The structures and constants of `bcl_adi.h`, `bcl_reflect.h` and `bbp.h`, field by field; a test compares both.

use std::ffi::{c_char, c_void};

use bcl_adi::Piece;
use bcl_capi::types::{CAddress, COptions};
use bcl_cface::Growing;

pub const MANUAL: u32 = 1;

pub const INJECTED: u32 = 1;
pub const DELIVERED: u32 = 2;
pub const QUIET: u32 = 4;
pub const DATA: u32 = 8;

/// `bcl_adi_outgoing`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct COutgoing {
    pub to: CAddress,
    pub tag: u64,
    pub data: u64,
    pub context: u64,
    pub pieces: *const Piece,
    pub count: u32,
    pub space: u32,
    pub flags: u32,
    pub reserved: u32,
}

/// `bcl_adi_wanted`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CWanted {
    pub from: CAddress,
    pub tag: u64,
    pub ignore: u64,
    pub space: u32,
    pub reserved: u32,
}

/// `bcl_adi_incoming`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CIncoming {
    pub wanted: CWanted,
    pub context: u64,
    pub pieces: *const Piece,
    pub count: u32,
    pub reserved: u32,
    pub multi_min_free: u64,
}

/// `bcl_adi_probed`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CProbed {
    pub from: CAddress,
    pub tag: u64,
    pub data: u64,
    pub len: u64,
    pub claim: u64,
    pub has_data: u32,
    pub reserved: u32,
}

/// `bcl_adi_completion`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CCompletion {
    pub kind: u32,
    pub status: i32,
    pub peer: CAddress,
    pub context: u64,
    pub tag: u64,
    pub data: u64,
    pub len: u64,
    pub start: *mut c_void,
    pub value: u64,
    pub cause: u32,
    pub cause_detail: i32,
    pub space: u32,
    pub has_data: u8,
    pub released: u8,
    pub reserved: u16,
}

pub const SENT: u32 = 1;
pub const RECEIVED: u32 = 2;
pub const PUT_DONE: u32 = 3;
pub const GET_DONE: u32 = 4;
pub const ATOMIC_DONE: u32 = 5;
pub const WRITTEN: u32 = 6;
pub const LOST: u32 = 7;

/// `bcl_adi_place`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CPlace {
    pub owner: CAddress,
    pub key: u64,
    pub address: u64,
}

/// `bcl_adi_change`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CChange {
    pub function: u32,
    pub kind: u32,
    pub count: u32,
    pub reserved: u32,
    pub operands: *const u8,
    pub compared: *const u8,
    pub found: *mut u8,
}

pub const NEVER: u32 = 0;
pub const THERE: u32 = 1;
pub const GONE: u32 = 2;

/// `bcl_reflect_life`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CLife {
    pub member: u32,
    pub life: u32,
    pub cause: u32,
    pub cause_detail: i32,
}

/// In place of a member: whichever has a message.
pub const ANY: u32 = u32::MAX;

/// `bbp_options`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CBoardOptions {
    pub size: usize,
    pub members: u32,
    pub member: u32,
    pub data: u64,
    pub hosts: *const c_char,
    pub address: *const c_char,
    pub options: *const COptions,
}

// SAFETY: as the header has it; all fields are numbers and pointers, which are checked before they are used.
unsafe impl Growing for CBoardOptions {
    const DEFAULT: Self = Self {
        size: 0,
        members: 0,
        member: 0,
        data: 0,
        hosts: std::ptr::null(),
        address: std::ptr::null(),
        options: std::ptr::null(),
    };
    const FIRST_BYTES: usize = size_of::<Self>();
    const INIT: &str = "BBP_OPTIONS_INIT";
    const NAME: &str = "options";
}

/// `bbp_message`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CMessage {
    pub from: u32,
    pub reserved: u32,
    pub len: u64,
}

/// `bbp_change`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CBoardChange {
    pub member: CLife,
    pub taken_back: u32,
    pub reserved: u32,
}
