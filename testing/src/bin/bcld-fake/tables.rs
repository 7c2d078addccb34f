//! Tables as files: each entry is one, its name says which.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use bcl_agent::settings::Settings;
use bcl_agent::tables::{
    Capacity, Contents, Counters, Memory, PortEntry, PortMaps, TableError, Tables,
};
use bcl_agent_client::InterfaceStatus;
use bcl_agent_client::message::{Connection, Progress, Window};
use bcl_layout::PAGE_BYTES;
use bcl_wire::JobKeys;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

type Done<T = ()> = Result<T, TableError>;

/// A folder of files, one for each entry.
pub struct Files {
    folder: PathBuf,
    interfaces: Vec<String>,
}

impl Files {
    pub fn new(settings: &Settings) -> Self {
        Self {
            folder: settings.pins(),
            interfaces: settings.interfaces.clone(),
        }
    }

    fn put(&self, name: String, content: impl AsRef<[u8]>) -> Done {
        fs::write(self.folder.join(name), content).map_err(|error| system("write", error))
    }

    fn take(&self, name: String) -> Done {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(system("remove", error)),
            _ => Ok(()),
        }
    }
}

impl Tables for Files {
    fn interfaces(&self) -> Vec<InterfaceStatus> {
        let named = self.interfaces.iter();
        let status = named.map(|name| InterfaceStatus {
            name: name.clone(),
            mode: "fake".into(),
            trouble: None,
        });
        status.collect()
    }

    fn follow_interfaces(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn take_singly(&self) -> bool {
        false
    }

    fn capacity(&self) -> Capacity {
        Capacity {
            ports: 256,
            jobs: 16,
            memories: 64,
        }
    }

    fn contents(&self) -> Done<Contents> {
        let mut contents = Contents::default();
        for entry in fs::read_dir(&self.folder).map_err(|error| system("list", error))? {
            let path = entry.map_err(|error| system("list", error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let words: Vec<&str> = name.split('-').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number in a name");
            match words[0] {
                "job" => {
                    contents.jobs.insert(number(1) as u32);
                }
                "memory" => {
                    contents.memories.insert(number(1) as u32);
                }
                "port" => {
                    contents.ports.entry(number(1) as u32).or_default();
                }
                "connection" => {
                    let port = contents.ports.entry(number(1) as u32).or_default();
                    let connection = read(&path).expect("a connection was written");
                    let peer = (&connection).into();
                    port.connections.insert(number(2) as u32, peer);
                }
                "window" => {
                    let memory = fs::read_to_string(&path).unwrap_or_default();
                    let memory = memory.parse().expect("a number of a memory");
                    let port = contents.ports.entry(number(1) as u32).or_default();
                    port.windows.insert(number(2) as u16, memory);
                }
                other => panic!("what is {other}?"),
            }
        }
        Ok(contents)
    }

    fn enter_job(&mut self, job: u32, _keys: &JobKeys) -> Done {
        self.put(format!("job-{job}"), "")
    }

    fn remove_job(&mut self, job: u32) -> Done {
        self.take(format!("job-{job}"))
    }

    fn enter_port(&mut self, port: &PortEntry) -> Done<PortMaps> {
        self.put(format!("port-{}", port.index), port.address.to_string())?;
        Ok(PortMaps {
            ring: file(port.ring_bytes.into(), false)?,
            control: file(PAGE_BYTES as u64, false)?,
            statistics: file(PAGE_BYTES as u64, true)?,
        })
    }

    fn hide_port(&mut self, _port: u32) -> Done {
        Ok(())
    }

    fn remove_port(&mut self, port: u32) -> Done {
        self.take(format!("port-{port}"))
    }

    fn enter_connection(&mut self, port: u32, _job: u32, connection: &Connection) -> Done {
        let name = format!("connection-{port}-{}", connection.connection);
        let text = serde_json::to_string(connection);
        self.put(name, text.map_err(|error| system("write", error.into()))?)
    }

    fn remove_connection(&mut self, port: u32, connection: u32) -> Done<Option<Progress>> {
        let name = format!("connection-{port}-{connection}");
        let entered = read(&self.folder.join(&name));
        self.take(name)?;
        Ok(entered.map(|connection| Progress {
            expected: connection.expected,
            taken: bcl_agent_client::Key([0; 128]),
            due: 0,
            refused: None,
            outcomes: Vec::new(),
        }))
    }

    fn make_memory(&mut self, memory: Memory) -> Done<OwnedFd> {
        self.put(format!("memory-{}", memory.number), "")?;
        file(memory.bytes, false)
    }

    fn remove_memory(&mut self, memory: u32) -> Done {
        self.take(format!("memory-{memory}"))
    }

    fn bind_window(&mut self, port: u32, window: &Window) -> Done {
        let name = format!("window-{port}-{}", window.window);
        self.put(name, window.memory.to_string())
    }

    fn unbind_window(&mut self, port: u32, window: u16) -> Done {
        self.take(format!("window-{port}-{window}"))
    }

    fn settle(&mut self) -> Done {
        Ok(())
    }

    fn counters(&self) -> Done<Counters> {
        self.counters_of(0)
    }

    fn counters_of(&self, _port: u32) -> Done<Counters> {
        Ok(BTreeMap::from([("packets".to_owned(), 0)]))
    }

    fn withdraw(&mut self) -> Done {
        fs::remove_dir_all(&self.folder).map_err(|error| system("remove", error))
    }
}

/// A connection that was entered.
fn read(path: &Path) -> Option<Connection> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn file(bytes: u64, frozen: bool) -> Done<OwnedFd> {
    let make = || -> rustix::io::Result<OwnedFd> {
        let file = memfd_create("fake map", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes)?;
        if frozen {
            fcntl_add_seals(
                &file,
                SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK,
            )?;
        }
        Ok(file)
    };
    make().map_err(|errno| system("make a map", errno.into()))
}

fn system(what: &str, source: io::Error) -> TableError {
    TableError::System {
        what: what.to_owned(),
        source,
    }
}
