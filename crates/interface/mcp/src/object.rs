//! The compiled interface program: its tables are made, its functions joined and loaded.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use aya_obj::btf::BtfFeatures;
use aya_obj::generated::bpf_insn;

use crate::error::{Doing, Error};
use crate::sys::{self, Code, MapShape};

/// Aligned as an object file is where it is read in place.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/mcp.o")));

pub(crate) const PROGRAM: &str = "mcp";
/// Enough for what the verifier says of an error, and for its statistics, without the way there: one that does not fit
/// is an error of its own before Linux 6.4.
const LOG_BYTES: usize = 1 << 20;
/// To say no more than that.
pub(crate) const LOG_BRIEF: u32 = 4;

const ARRAY: u32 = 2;
const ARRAY_OF_MAPS: u32 = 12;
const RINGBUF: u32 = 27;
const MMAPABLE: u32 = 1 << 10;
const INNER_MAP: u32 = 1 << 12;

/// What the tables by port or memory hold.
pub(crate) fn inner_shape(table: &str, entries: u32) -> MapShape {
    let array = |value_len: usize, flags| MapShape {
        kind: ARRAY,
        key_len: 4,
        value_len: value_len as u32,
        entries,
        flags,
    };
    match table {
        "rings" => MapShape {
            kind: RINGBUF,
            key_len: 0,
            value_len: 0,
            entries,
            flags: 0,
        },
        "memories" => array(bcl_layout::tables::BLOCK_BYTES, MMAPABLE | INNER_MAP),
        _ => array(bcl_layout::PAGE_BYTES, MMAPABLE),
    }
}

/// The smallest of each, after which the kernel judges all others.
fn sample_of(table: &str) -> MapShape {
    inner_shape(table, if table == "rings" { 65536 } else { 1 })
}

/// What has come into the kernel.
pub(crate) struct Loaded {
    pub(crate) program: OwnedFd,
    pub(crate) tables: HashMap<String, OwnedFd>,
    /// What the verifier has said, if it was asked.
    pub(crate) log: String,
}

/// Loads the interface program with empty tables.
pub(crate) fn load(log_level: u32) -> Result<Loaded, Error> {
    let mut object = aya_obj::Object::parse(&OBJECT.0).map_err(wrong)?;
    let tables = make_tables(&object)?;
    let texts = object
        .functions
        .keys()
        .map(|(section, _)| *section)
        .collect();
    let maps = object.maps.clone();
    let references = maps.iter().filter_map(|(name, map)| {
        let fd = tables.get(name)?.as_raw_fd();
        Some((name.as_str(), fd, map))
    });
    object.relocate_maps(references, &texts).map_err(wrong)?;
    object.relocate_calls(&texts).map_err(wrong)?;
    // All that clang writes here is understood by every kernel with XDP of several buffers.
    let features = BtfFeatures::new(true, true, true, true, true, true, true);
    let types = object.fixup_and_sanitize_btf(&features).map_err(wrong)?;
    let types = types.ok_or_else(|| wrong("no types"))?.to_bytes();
    let types = sys::load_types(&types).doing(|| "loading types".to_owned())?;
    let (program, log) = load_program(&object, types.as_fd(), log_level)?;
    Ok(Loaded {
        program,
        tables,
        log,
    })
}

fn make_tables(object: &aya_obj::Object) -> Result<HashMap<String, OwnedFd>, Error> {
    let mut tables = HashMap::new();
    for (name, map) in &object.maps {
        let shape = MapShape {
            kind: map.map_type(),
            key_len: map.key_size(),
            value_len: if map.map_type() == ARRAY_OF_MAPS {
                4
            } else {
                map.value_size()
            },
            entries: map.max_entries(),
            flags: map.map_flags(),
        };
        let doing = || format!("making table '{name}' of the interface program");
        let sample = match shape.kind {
            ARRAY_OF_MAPS => Some(sys::create_map(name, &sample_of(name), None).doing(doing)?),
            _ => None,
        };
        let inner = sample.as_ref().map(AsFd::as_fd);
        let table = sys::create_map(name, &shape, inner).doing(doing)?;
        tables.insert(name.clone(), table);
    }
    Ok(tables)
}

fn load_program(
    object: &aya_obj::Object,
    types: BorrowedFd<'_>,
    log_level: u32,
) -> Result<(OwnedFd, String), Error> {
    let program = object.programs.get(PROGRAM);
    let program = program.ok_or_else(|| wrong("it has another name"))?;
    let function = object.functions.get(&program.function_key());
    let function = function.ok_or_else(|| wrong("it has no code"))?;
    let code = Code {
        name: PROGRAM,
        license: &program.license,
        instructions: instruction_bytes(&function.instructions),
        types,
        functions: &function.func_info.func_info_bytes(),
        function_len: function.func_info_rec_size,
        lines: &function.line_info.line_info_bytes(),
        line_len: function.line_info_rec_size,
    };
    let mut log = vec![0; LOG_BYTES];
    match sys::load_program(&code, log_level, &mut log) {
        Ok(program) => return Ok((program, text(&log))),
        Err(source) if source.raw_os_error() == Some(libc::EPERM) => {
            return Err(source).doing(|| "loading the interface program".to_owned());
        }
        Err(_) => {}
    }
    // A second time, for the reasons.
    match sys::load_program(&code, LOG_BRIEF, &mut log) {
        Ok(program) => Ok((program, text(&log))),
        Err(source) => {
            let log = text(&log);
            Err(Error::Verifier { source, log })
        }
    }
}

fn instruction_bytes(instructions: &[bpf_insn]) -> &[u8] {
    const { assert!(size_of::<bpf_insn>() == 8) }
    // SAFETY: an instruction has 8 bytes, as just asserted, of 1, 1, 2 and 4: no padding.
    unsafe { std::slice::from_raw_parts(instructions.as_ptr().cast(), 8 * instructions.len()) }
}

fn text(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}

fn wrong(why: impl std::fmt::Display) -> Error {
    Error::Object(why.to_string())
}
