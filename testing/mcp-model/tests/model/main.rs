//! The interface program's model, rule by rule of `spec/interface.md`.

mod answers;
mod bench;
mod messages;
mod one_sided;
mod packets;
mod ring;
mod sequence;
