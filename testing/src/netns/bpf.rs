//! The few calls of bpf(2) that reach the maps of a loaded program.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A map of one element, the value of which is all of `T`.
#[derive(Debug)]
pub(super) struct Map(OwnedFd);

/// Types that are nothing but their bytes.
///
/// # Safety
/// Any bytes are a value, and there is no padding.
pub(super) unsafe trait Plain: Copy + Default {}

// Commands of <linux/bpf.h>.
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_GET_FD_BY_ID: i32 = 13;
const MAP_GET_FD_BY_ID: i32 = 14;
const OBJ_GET_INFO_BY_FD: i32 = 15;

/// A program has no more maps than that here.
const MAPS_MAX: usize = 8;
const NAME_LEN: usize = 16;

#[repr(C)]
struct ById {
    id: u32,
    next_id: u32,
    open_flags: u32,
}

#[repr(C)]
struct InfoByFd {
    fd: u32,
    info_len: u32,
    info: u64,
}

#[repr(C)]
struct Element {
    map_fd: u32,
    _pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// `struct bpf_prog_info` as far as it is asked for.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    _before: [u32; 13],
    map_count: u32,
    map_ids: u64,
}

/// `struct bpf_map_info` as far as it is asked for.
#[repr(C)]
#[derive(Default)]
struct MapInfo {
    _before: [u32; 3],
    value_size: u32,
    _between: [u32; 2],
    name: [u8; NAME_LEN],
}

impl Map {
    /// The map called `name` of the program with this id.
    ///
    /// # Errors
    /// When the kernel refuses, or the program has no such map.
    pub(super) fn of_program(program_id: u32, name: &str) -> Result<Self> {
        let program = by_id(PROG_GET_FD_BY_ID, program_id)?;
        let mut ids = [0u32; MAPS_MAX];
        let mut info = ProgramInfo {
            map_count: MAPS_MAX as u32,
            map_ids: ids.as_mut_ptr().addr() as u64,
            ..ProgramInfo::default()
        };
        inform(&program, &mut info)?;
        for id in &ids[..MAPS_MAX.min(info.map_count as usize)] {
            let map = by_id(MAP_GET_FD_BY_ID, *id)?;
            let mut info = MapInfo::default();
            inform(&map, &mut info)?;
            if info.name.split(|byte| *byte == 0).next() == Some(name.as_bytes()) {
                return Ok(Self(map));
            }
        }
        Err(Error::other(format!(
            "program {program_id} has no map '{name}'"
        )))
    }

    /// What is in it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn read<T: Plain>(&self) -> Result<T> {
        self.has_size_of::<T>()?;
        let mut value = T::default();
        self.element(MAP_LOOKUP_ELEM, (&raw mut value).addr())?;
        Ok(value)
    }

    /// Puts `value` into it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn write<T: Plain>(&self, value: &T) -> Result<()> {
        self.has_size_of::<T>()?;
        self.element(MAP_UPDATE_ELEM, std::ptr::from_ref(value).addr())
    }

    /// The kernel copies as many bytes as the map's values have.
    fn has_size_of<T>(&self) -> Result<()> {
        let mut info = MapInfo::default();
        inform(&self.0, &mut info)?;
        if info.value_size as usize == size_of::<T>() {
            return Ok(());
        }
        Err(Error::other(format!(
            "values of the map have {} bytes and not {}: bpf/faults.bpf.c has changed",
            info.value_size,
            size_of::<T>()
        )))
    }

    fn element(&self, command: i32, value: usize) -> Result<()> {
        let key = 0u32;
        let mut element = Element {
            map_fd: number(&self.0),
            _pad: 0,
            key: (&raw const key).addr() as u64,
            value: value as u64,
            flags: 0,
        };
        call(command, &mut element).map(drop)
    }
}

fn by_id(command: i32, id: u32) -> Result<OwnedFd> {
    let mut attributes = ById {
        id,
        next_id: 0,
        open_flags: 0,
    };
    let fd = call(command, &mut attributes)?;
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn inform<T>(object: &OwnedFd, info: &mut T) -> Result<()> {
    let mut attributes = InfoByFd {
        fd: number(object),
        info_len: size_of::<T>() as u32,
        info: std::ptr::from_mut(info).addr() as u64,
    };
    call(OBJ_GET_INFO_BY_FD, &mut attributes).map(drop)
}

fn number(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd() as u32
}

fn call<T>(command: i32, attributes: &mut T) -> Result<i32> {
    // SAFETY: the attributes are those of the command, as long as said, and what they point to outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    match i32::try_from(result) {
        Ok(result) if result >= 0 => Ok(result),
        _ => Err(Error::last_os_error()),
    }
}
