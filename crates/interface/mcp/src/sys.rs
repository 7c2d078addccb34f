//! bpf(2): the commands that are needed here, each with its part of `union bpf_attr`.

use std::ffi::{CString, c_long};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

// Commands of <linux/bpf.h>.
const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const MAP_GET_NEXT_KEY: i32 = 4;
const PROG_LOAD: i32 = 5;
const OBJ_PIN: i32 = 6;
const OBJ_GET: i32 = 7;
const PROG_TEST_RUN: i32 = 10;
const PROG_GET_FD_BY_ID: i32 = 13;
const MAP_GET_FD_BY_ID: i32 = 14;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const BTF_LOAD: i32 = 18;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;
const LINK_DETACH: i32 = 34;

const NAME_LEN: usize = 16;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const HAS_FRAGS: u32 = 1 << 5;

/// What a map is made of.
#[derive(Debug, Clone, Copy)]
pub struct MapShape {
    pub kind: u32,
    pub key_len: u32,
    pub value_len: u32,
    pub entries: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_len: u32,
    value_len: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    numa_node: u32,
    name: [u8; NAME_LEN],
}

/// Makes a map; one of maps needs one of the maps that it will hold.
pub fn create_map(name: &str, shape: &MapShape, inner: Option<BorrowedFd<'_>>) -> Result<OwnedFd> {
    let mut attributes = MapCreate {
        kind: shape.kind,
        key_len: shape.key_len,
        value_len: shape.value_len,
        entries: shape.entries,
        flags: shape.flags,
        inner: inner.map_or(0, number),
        numa_node: 0,
        name: name_bytes(name),
    };
    call(MAP_CREATE, &mut attributes).map(owned)
}

#[repr(C)]
struct Element {
    map: u32,
    _pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// A command on an element. The lengths of key and value must be the map's.
fn element(command: i32, map: BorrowedFd<'_>, key: u64, value: u64) -> Result<()> {
    let mut attributes = Element {
        map: number(map),
        _pad: 0,
        key,
        value,
        flags: 0,
    };
    call(command, &mut attributes).map(drop)
}

/// Reads the value of a key; false if there is none.
pub fn lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> Result<bool> {
    let result = element(
        MAP_LOOKUP_ELEM,
        map,
        address(key),
        value.as_mut_ptr().addr() as u64,
    );
    found(result)
}

/// Writes the value of a key.
pub fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    element(MAP_UPDATE_ELEM, map, address(key), address(value))
}

/// Removes a key; false if there was none.
pub fn delete(map: BorrowedFd<'_>, key: &[u8]) -> Result<bool> {
    found(element(MAP_DELETE_ELEM, map, address(key), 0))
}

/// The key after another, or the first; false at the end.
pub fn next_key(map: BorrowedFd<'_>, key: Option<&[u8]>, next: &mut [u8]) -> Result<bool> {
    let key = key.map_or(0, address);
    found(element(
        MAP_GET_NEXT_KEY,
        map,
        key,
        next.as_mut_ptr().addr() as u64,
    ))
}

fn found(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// From now on only programs in the kernel write to the map.
pub fn freeze(map: BorrowedFd<'_>) -> Result<()> {
    call(MAP_FREEZE, &mut number(map)).map(drop)
}

#[repr(C)]
#[derive(Default)]
struct BtfLoad {
    btf: u64,
    log: u64,
    btf_len: u32,
    log_len: u32,
    log_level: u32,
    _pad: u32,
}

/// Loads the types of a program.
pub fn load_types(btf: &[u8]) -> Result<OwnedFd> {
    let mut attributes = BtfLoad {
        btf: address(btf),
        btf_len: btf.len() as u32,
        ..BtfLoad::default()
    };
    call(BTF_LOAD, &mut attributes).map(owned)
}

/// A program, and what the verifier has to know of its functions.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub name: &'a str,
    pub license: &'a std::ffi::CStr,
    /// 8 bytes each.
    pub instructions: &'a [u8],
    pub types: BorrowedFd<'a>,
    pub functions: &'a [u8],
    pub function_len: usize,
    pub lines: &'a [u8],
    pub line_len: usize,
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_len: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_LEN],
    interface: u32,
    attach_type: u32,
    types: u32,
    function_len: u32,
    functions: u64,
    function_count: u32,
    line_len: u32,
    lines: u64,
    line_count: u32,
    _pad: u32,
}

/// Loads an XDP program that takes packets of several buffers. The log says what the verifier has to say.
pub fn load_program(code: &Code<'_>, log_level: u32, log: &mut [u8]) -> Result<OwnedFd> {
    let mut attributes = ProgLoad {
        kind: PROG_TYPE_XDP,
        instruction_count: (code.instructions.len() / 8) as u32,
        instructions: address(code.instructions),
        license: code.license.as_ptr().addr() as u64,
        log_level,
        log_len: if log_level == 0 { 0 } else { log.len() as u32 },
        log: if log_level == 0 { 0 } else { address(log) },
        flags: HAS_FRAGS,
        name: name_bytes(code.name),
        attach_type: ATTACH_XDP,
        types: number(code.types),
        function_len: code.function_len as u32,
        functions: address(code.functions),
        function_count: (code.functions.len() / code.function_len.max(1)) as u32,
        line_len: code.line_len as u32,
        lines: address(code.lines),
        line_count: (code.lines.len() / code.line_len.max(1)) as u32,
        ..ProgLoad::default()
    };
    call(PROG_LOAD, &mut attributes).map(owned)
}

#[repr(C)]
struct Object {
    path: u64,
    fd: u32,
    flags: u32,
}

/// Gives a map, program or link a name in a bpf file system, so that it outlives this process.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> Result<()> {
    let path = c_path(path)?;
    let mut attributes = Object {
        path: path.as_ptr().addr() as u64,
        fd: number(object),
        flags: 0,
    };
    call(OBJ_PIN, &mut attributes).map(drop)
}

/// Opens what was pinned.
pub fn open_pinned(path: &Path) -> Result<OwnedFd> {
    let path = c_path(path)?;
    let mut attributes = Object {
        path: path.as_ptr().addr() as u64,
        fd: 0,
        flags: 0,
    };
    call(OBJ_GET, &mut attributes).map(owned)
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::from(ErrorKind::InvalidInput))
}

#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
    _rest: [u32; 12],
}

/// Attaches a program to an interface, with the flags of XDP.
pub fn attach(program: BorrowedFd<'_>, interface: u32, flags: u32) -> Result<OwnedFd> {
    let mut attributes = LinkCreate {
        program: number(program),
        interface,
        attach_type: ATTACH_XDP,
        flags,
        ..LinkCreate::default()
    };
    call(LINK_CREATE, &mut attributes).map(owned)
}

/// Takes a program off its interface, now. Of a link that is gone with its last name the kernel does that later.
pub fn detach(link: BorrowedFd<'_>) -> Result<()> {
    call(LINK_DETACH, &mut number(link)).map(drop)
}

#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    result: u32,
    data_in_len: u32,
    data_out_len: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration_ns: u32,
    _rest: [u64; 5],
}

/// How a packet has fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// What the program has returned.
    pub result: u32,
    /// Bytes of the packet behind it.
    pub len: usize,
    /// On average, over all repetitions.
    pub duration_ns: u32,
}

/// Runs a program on a packet, several times on what it has made of it.
pub fn test_run(
    program: BorrowedFd<'_>,
    packet: &[u8],
    out: &mut [u8],
    repeat: u32,
) -> Result<Ran> {
    let mut attributes = TestRun {
        program: number(program),
        data_in_len: packet.len() as u32,
        data_out_len: out.len() as u32,
        data_in: address(packet),
        data_out: out.as_mut_ptr().addr() as u64,
        repeat,
        ..TestRun::default()
    };
    call(PROG_TEST_RUN, &mut attributes)?;
    Ok(Ran {
        result: attributes.result,
        len: attributes.data_out_len as usize,
        duration_ns: attributes.duration_ns,
    })
}

#[repr(C)]
struct ById {
    id: u32,
    next_id: u32,
    open_flags: u32,
}

#[repr(C)]
struct InfoByFd {
    fd: u32,
    len: u32,
    info: u64,
}

/// `struct bpf_prog_info` as far as it is asked for.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    _before: [u32; 16],
    name: [u8; NAME_LEN],
}

fn by_id(command: i32, id: u32) -> Result<OwnedFd> {
    let mut attributes = ById {
        id,
        next_id: 0,
        open_flags: 0,
    };
    call(command, &mut attributes).map(owned)
}

/// A map by what a map of maps shows as its value.
pub fn map_by_id(id: u32) -> Result<OwnedFd> {
    by_id(MAP_GET_FD_BY_ID, id)
}

/// What a program that is loaded is called.
pub fn program_name(id: u32) -> Result<String> {
    let program = by_id(PROG_GET_FD_BY_ID, id)?;
    let mut info = ProgramInfo::default();
    inform(program.as_fd(), &mut info)?;
    let name = info
        .name
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// `struct bpf_map_info` as far as it is asked for.
#[repr(C)]
#[derive(Default)]
struct MapInfo {
    kind: u32,
    _id: u32,
    key_len: u32,
    value_len: u32,
    entries: u32,
    flags: u32,
}

/// What a map is made of.
pub fn shape(map: BorrowedFd<'_>) -> Result<MapShape> {
    let mut info = MapInfo::default();
    inform(map, &mut info)?;
    Ok(MapShape {
        kind: info.kind,
        key_len: info.key_len,
        value_len: info.value_len,
        entries: info.entries,
        flags: info.flags,
    })
}

/// `struct bpf_link_info` of a link to an interface.
#[repr(C)]
#[derive(Default)]
struct LinkInfo {
    _before: [u32; 4],
    interface: u32,
    _after: u32,
}

/// The number of the interface that a link is to; 0 once that is gone.
pub fn place_of_link(link: BorrowedFd<'_>) -> Result<u32> {
    let mut info = LinkInfo::default();
    inform(link, &mut info)?;
    Ok(info.interface)
}

fn inform<T>(object: BorrowedFd<'_>, info: &mut T) -> Result<()> {
    let mut attributes = InfoByFd {
        fd: number(object),
        len: size_of::<T>() as u32,
        info: std::ptr::from_mut(info).addr() as u64,
    };
    call(OBJ_GET_INFO_BY_FD, &mut attributes).map(drop)
}

fn name_bytes(name: &str) -> [u8; NAME_LEN] {
    let mut bytes = [0; NAME_LEN];
    for (to, from) in bytes[..NAME_LEN - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    bytes
}

fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr().addr() as u64
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd() as u32
}

fn owned(fd: i32) -> OwnedFd {
    // SAFETY: the kernel has just made it for us.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn call<T>(command: i32, attributes: &mut T) -> Result<i32> {
    // SAFETY: the attributes are those of the command, as long as said, and what they point to outlives the call.
    let result: c_long =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    match i32::try_from(result) {
        Ok(result) if result >= 0 => Ok(result),
        _ => Err(Error::last_os_error()),
    }
}
