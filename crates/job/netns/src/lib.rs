//! Hosts on one machine, for tests and measurements: network namespaces, the cables between them, their addresses.
//!
//! Every host that anything in this repository makes has an address of one [`Block`]. A [`Host`] has no name and goes
//! with the process that made it, however that ends; nothing has to be removed.
//!
//! All of it takes root (or `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`) and `ip`.

mod block;
mod host;
mod tool;

use std::io::Result;

pub use block::Block;
pub use host::Host;
pub use tool::run;

/// So many hosts for a test, without cables, and the block for their addresses, or `None` where none can be made: a
/// line on standard output says then that nothing was checked.
///
/// # Panics
/// When it fails for any other reason than missing rights or a missing program.
pub fn hosts<const N: usize>() -> Option<(Block, [Host; N])> {
    unless_refused(Block::free().and_then(|block| Ok((block, several()?))))
}

/// What was made for a test, or `None` if the machine, not the test, is the reason why not: a line on standard output
/// says then that nothing was checked.
///
/// # Panics
/// When there is another reason.
pub fn unless_refused<T>(made: Result<T>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error) if tool::is_refusal(&error) => {
            println!("no network namespaces here, nothing was checked: {error}");
            None
        }
        Err(error) => panic!("network namespaces: {error}"),
    }
}

fn several<const N: usize>() -> Result<[Host; N]> {
    let hosts: Vec<Host> = (0..N).map(|_| Host::new()).collect::<Result<_>>()?;
    Ok(hosts.try_into().expect("as many as were made"))
}
