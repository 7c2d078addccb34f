//! The three files of a run: for readers, for eyes and for programs.

mod curves;
pub mod json;
pub mod markdown;
mod panel;
pub mod picture;
