//! `bcl mpi-probe`: a process of an MPI program as `bcl doctor --mpi` starts it, with an MPI library that it loads by name.
//!
//! Of that it only calls what needs no header: functions that take pointers to plain numbers, or null. What comes of it is told
//! in lines that begin with [`MARK`], for launchers and libraries say things of their own.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bcl::Folder;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::output;

/// What begins a line that is told.
pub const MARK: &str = "bcl-mpi-probe ";

/// After so long it is ended, whatever it does: nobody else can see to that on another host.
const PATIENCE_SECONDS: u32 = 25;

/// Start as a process of an MPI program, and tell what is loaded.
#[derive(Debug, Args)]
pub struct Arguments {
    /// MPI libraries, of which the first that can be loaded is taken.
    #[arg(required = true)]
    libraries: Vec<PathBuf>,
}

/// What is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// No library can be loaded; why.
    Missing(String),
    /// The library is there; so it calls itself.
    Loaded {
        version: String,
        surroundings: Surroundings,
    },
    /// `MPI_Init` has returned.
    Started { surroundings: Surroundings },
}

/// What is in the process beside the MPI library.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The libfabric, with major and minor version.
    pub libfabric: Option<(String, u32, u32)>,
    /// Our provider.
    pub provider: Option<String>,
    /// The other library of this kind.
    pub ucx: Option<String>,
    /// How many ports of BCL this process has open.
    pub ports: usize,
    /// What libfabric is told.
    pub provider_path: Option<String>,
}

/// Does it.
pub fn run(arguments: &Arguments) -> Result<()> {
    // SAFETY: alarm touches no memory.
    unsafe { libc::alarm(PATIENCE_SECONDS) };
    let library = match Library::first_of(&arguments.libraries) {
        Ok(library) => library,
        Err(why) => return tell(&Told::Missing(why)),
    };
    tell(&Told::Loaded {
        version: library.version()?,
        surroundings: surroundings(&library),
    })?;
    library.call_init()?;
    tell(&Told::Started {
        surroundings: surroundings(&library),
    })?;
    library.call_finalize()
}

fn tell(told: &Told) -> Result<()> {
    let text = serde_json::to_string(told)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    output::line(format_args!("{MARK}{text}"))
}

/// An MPI library, which stays loaded.
struct Library(*mut c_void);

impl Library {
    fn first_of(paths: &[PathBuf]) -> std::result::Result<Self, String> {
        let mut why = String::new();
        for path in paths {
            let name =
                CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
            // SAFETY: a library runs code of its own when it is loaded: what the user starts programs with is trusted to. Open
            // MPI's components need its symbols to be global.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !handle.is_null() {
                return Ok(Self(handle));
            }
            if why.is_empty() {
                why = loader_error();
            }
        }
        Err(why)
    }

    fn find(&self, name: &CStr) -> Result<*mut c_void> {
        // SAFETY: a handle, or the default one, and a string.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        match found.is_null() {
            false => Ok(found),
            true => Err(Failure::new(format!(
                "the MPI library has no {}",
                name.to_string_lossy()
            ))),
        }
    }

    /// The first line of it.
    fn version(&self) -> Result<String> {
        /// More than `MPI_MAX_LIBRARY_VERSION_STRING` of any library.
        const ROOM: usize = 64 << 10;
        let function = self.find(c"MPI_Get_library_version")?;
        let mut text: Vec<c_char> = vec![0; ROOM];
        let mut len: c_int = 0;
        // SAFETY: its type by the MPI standard, which permits the call at any time.
        unsafe {
            let function: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
                std::mem::transmute(function);
            function(text.as_mut_ptr(), &raw mut len);
        }
        let text: Vec<u8> = text
            .iter()
            .map(|c| *c as u8)
            .take_while(|c| *c != 0)
            .collect();
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().next().unwrap_or_default();
        Ok(line.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn call_init(&self) -> Result<()> {
        let function = self.find(c"MPI_Init")?;
        // SAFETY: its type by the MPI standard, which permits null for both.
        let status = unsafe {
            let function: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int =
                std::mem::transmute(function);
            function(std::ptr::null_mut(), std::ptr::null_mut())
        };
        match status {
            0 => Ok(()),
            _ => Err(Failure::new(format!("MPI_Init returns {status}"))),
        }
    }

    fn call_finalize(&self) -> Result<()> {
        let function = self.find(c"MPI_Finalize")?;
        // SAFETY: its type by the MPI standard; it is initialized.
        unsafe {
            let function: unsafe extern "C" fn() -> c_int = std::mem::transmute(function);
            function();
        }
        Ok(())
    }

    /// The version of the libfabric that is in this file, or anywhere the library sees.
    fn libfabric_version(&self) -> Option<(u32, u32)> {
        let function = self.find(c"fi_version").ok()?;
        // SAFETY: its type by libfabric's header.
        let version = unsafe {
            let function: unsafe extern "C" fn() -> u32 = std::mem::transmute(function);
            function()
        };
        Some((version >> 16, version & 0xffff))
    }
}

fn loader_error() -> String {
    // SAFETY: a string, or null, that is good until the next call of the loader.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "the loader says nothing".into(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

fn surroundings(library: &Library) -> Surroundings {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let file = |beginning: &str| mapped(&maps, beginning);
    Surroundings {
        libfabric: libfabric(library, file("libfabric.so")),
        provider: file("libbcl-fi.so").or_else(|| file("libbcl_fi.so")),
        ucx: file("libucp.so"),
        ports: own_ports().unwrap_or(0),
        provider_path: std::env::var("FI_PROVIDER_PATH").ok(),
    }
}

/// The path of the first file with such a name that is in the memory of a process.
fn mapped(maps: &str, beginning: &str) -> Option<String> {
    let paths = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    let mut named = paths.filter(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.starts_with(beginning)
    });
    named.next().map(str::to_owned)
}

/// The library of this name that is in use, or what the MPI library has inside of it.
fn libfabric(library: &Library, path: Option<String>) -> Option<(String, u32, u32)> {
    let Some(path) = path else {
        let (major, minor) = library.libfabric_version()?;
        return Some(("inside the MPI library".into(), major, minor));
    };
    let name = CString::new(path.clone()).ok()?;
    // SAFETY: loads nothing; it is loaded, as the map says.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    let (major, minor) = (!handle.is_null())
        .then(|| Library(handle).libfabric_version())
        .flatten()?;
    Some((path, major, minor))
}

fn own_ports() -> Option<usize> {
    let folder = Folder::open(Folder::default_path()).ok()?;
    let alive = folder.list().ok()?.into_iter().filter(|(_, alive)| *alive);
    let pids = alive.filter_map(|(address, _)| {
        let port = bcl_observe::attach(&folder, address).ok()?;
        Some(port.identity().pid)
    });
    Some(pids.filter(|pid| *pid == std::process::id()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_by_its_name_among_what_is_mapped() {
        let maps = "7f00-7f01 r-xp 00000000 fe:00 7 [vdso]\n\
                    7f02-7f03 r-xp 00000000 fe:00 8                 /opt/my libs/libfabric.so.1\n\
                    7f04-7f05 r-xp 00000000 fe:00 9                 /opt/libfabric.so/libother.so\n";
        assert_eq!(
            mapped(maps, "libfabric.so").as_deref(),
            Some("/opt/my libs/libfabric.so.1")
        );
        assert_eq!(mapped(maps, "libbcl-fi.so"), None);
    }
}
