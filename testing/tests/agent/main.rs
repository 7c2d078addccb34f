//! The agent and programs that ask it, as real processes; the interface program is replaced by files (`bcld-fake`).

mod deaths;
mod garbage;
mod lab;
mod limits;
mod restart;
mod socket;
mod users;
mod windows;
