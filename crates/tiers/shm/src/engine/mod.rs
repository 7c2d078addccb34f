//! The data path: connections of one port, driven by the thread that polls it.
//!
//! Read [`message`] (what travels), [`outgoing`] and [`incoming`] (the two halves of a connection), [`transfer`], [`ways`],
//! [`streaming`], [`streams`], [`stage`] and [`remote`] (large messages), [`rma`] (one-sided operations), [`peer`] (a connection as a whole) and
//! [`port`] (all of them).

pub(crate) mod fin;
pub(crate) mod inbox;
pub(crate) mod incoming;
pub(crate) mod link;
pub(crate) mod message;
pub(crate) mod outgoing;
pub(crate) mod peer;
pub(crate) mod peers;
pub(crate) mod port;
pub(crate) mod remote;
pub(crate) mod rma;
pub(crate) mod stage;
pub(crate) mod streaming;
pub(crate) mod streams;
pub(crate) mod transfer;
pub(crate) mod ways;
