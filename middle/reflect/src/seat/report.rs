//! What there is to tell people of a region.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bcl_node::{Folder, Seat};
use bcl_os::ready::wait_for;
use serde::{Deserialize, Serialize};

use super::say::{Answer, Unheard, Wish, hear, say};
use crate::error::Error;
use crate::life::Life;
use crate::net;
use crate::net::places::Places;
use crate::options::Geometry;
use crate::segment::Segment;

/// How long a member has to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// A region, as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// How many members it can have.
    pub members: u16,
    /// Its length.
    pub len_bytes: u64,
    /// Those that have been there.
    pub known: Vec<ReportedMember>,
    /// What there is between hosts, if others have it too.
    #[serde(default)]
    pub network: Option<ReportedNetwork>,
}

/// What there is to tell of a region between hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedNetwork {
    /// This host.
    pub address: String,
    /// Others that have the region.
    pub others: Vec<String>,
    /// The process that sends and receives for all members of this host; 0 if there is none just now.
    pub kept_by: u32,
    /// When it last did something: more than half a second ago, it is stopped.
    pub ran_before_ms: u64,
    /// The region is being fetched from others, after too much was missed.
    pub is_fetched: bool,
    /// How a packet gets to all.
    pub way: String,
    /// So many of the others hear what is sent by IP multicast, and get packets so.
    #[serde(default)]
    pub hearers: u32,
    /// Packets of what members of this host wrote, sent once,
    pub packets_sent: u64,
    /// and again because they were lost.
    pub packets_sent_again: u64,
    /// Those of others that were passed on.
    pub packets_passed_on: u64,
    /// Those that came and were not of this region and key.
    pub packets_refused: u64,
}

/// A member of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedMember {
    /// Its number.
    pub member: u16,
    /// Its process.
    pub pid: u32,
    /// How often somebody has joined as it.
    pub joined: u32,
    /// Whether it is there.
    pub is_there: bool,
    /// If not, why.
    pub ended: Option<String>,
    /// The host that it is, or was, on, if not on this one.
    #[serde(default)]
    pub host: Option<String>,
    /// Of a member of this host: how much of what it wrote the slowest of the others has not. Of another host's: how much of what it
    /// wrote is not here.
    #[serde(default)]
    pub behind_bytes: Option<u64>,
}

impl Report {
    pub(super) fn of(geometry: &Geometry, segment: &Segment, places: Option<&Places>) -> Self {
        let hosts = match places {
            Some(_) => net::report::hosts(segment),
            None => Vec::new(),
        };
        let one = |member: u16| {
            let (state, pid) = segment.member(member);
            let ended = match state.life {
                Life::Never => return None,
                Life::There => None,
                Life::Gone(bcl_types::Cause::Closed) => Some("it has left".to_owned()),
                Life::Gone(cause) => Some(cause.to_string()),
            };
            Some(ReportedMember {
                member,
                pid,
                joined: state.joined,
                is_there: ended.is_none(),
                ended,
                host: net::report::place_of(segment.host_of(member), &hosts),
                behind_bytes: places.map(|_| net::report::behind_bytes(segment, member)),
            })
        };
        Self {
            name: geometry.name.clone(),
            members: geometry.members,
            len_bytes: geometry.len_bytes,
            known: (0..geometry.members).filter_map(one).collect(),
            network: places.map(|places| net::report::network(segment, places, &hosts)),
        }
    }
}

/// All regions of this user whose members meet in a folder.
///
/// # Errors
/// [`Error::Folder`]; regions whose members do not answer are left out.
pub fn reports(folder: &Folder) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    let mut known = None;
    for seat in folder.seats()? {
        if known == Some(seat.region) {
            continue;
        }
        if let Some(report) = ask(folder, seat) {
            known = Some(seat.region);
            reports.push(report);
        }
    }
    Ok(reports)
}

fn ask(folder: &Folder, seat: Seat) -> Option<Report> {
    let sock = folder.connect_to_seat(seat).ok()??;
    say(&sock, &Wish::Report, &[]).ok()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match hear::<Answer>(&sock) {
            Ok((Answer::Report(report), _)) => return Some(report),
            Err(Unheard::NotYet) => {}
            Ok(_) | Err(Unheard::Over) => return None,
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if !wait_for([sock.as_fd()], Some(left)).ok()? {
            return None;
        }
    }
}
