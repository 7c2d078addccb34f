//! The agent and programs that ask it, as real processes. Where nothing is asked of the interface program it is replaced by
//! files (`bcld-fake`).

mod deaths;
mod garbage;
mod interface;
mod lab;
mod limits;
mod restart;
mod socket;
mod users;
mod windows;
