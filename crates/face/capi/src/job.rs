//! The job of this process.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use bcl::Job;
use bcl_cface::{Face, out, range};
use bcl_os::PerProcess;
use bcl_raw::Error;

use crate::code::{self, Bcl, Failure};

/// What the launcher said, kept because it says it once.
#[derive(Clone)]
struct Place {
    rank: u32,
    size: u32,
    /// Nobody to talk to in a process that was started by hand.
    job: Option<Arc<Mutex<Job>>>,
}

static PLACE: PerProcess<Mutex<Option<Place>>> = PerProcess::new(|| Mutex::new(None));

fn place() -> Result<Place, Error> {
    let mut place = PLACE.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = &*place {
        return Ok(place.clone());
    }
    let job = Job::from_env()?;
    let found = Place {
        rank: job.as_ref().map_or(0, Job::rank),
        size: job.as_ref().map_or(1, Job::size),
        job: job.map(|job| Arc::new(Mutex::new(job))),
    };
    Ok(place.insert(found).clone())
}

/// `bcl_job_rank`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_job_rank(rank: *mut u32) -> c_int {
    Bcl::status("bcl_job_rank", || {
        // SAFETY: by the contract of the header.
        unsafe { out(rank, "rank") }?.put(place()?.rank);
        Ok(())
    })
}

/// `bcl_job_size`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_job_size(size: *mut u32) -> c_int {
    Bcl::status("bcl_job_size", || {
        // SAFETY: by the contract of the header.
        unsafe { out(size, "size") }?.put(place()?.size);
        Ok(())
    })
}

/// `bcl_job_exchange`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_job_exchange(mine: *const u8, len: usize, all: *mut u8) -> c_int {
    Bcl::status("bcl_job_exchange", || {
        range(mine, len, "mine")?;
        let place = place()?;
        range(all, len.saturating_mul(place.size as usize), "all")?;
        if len > bcl::job::BLOB_MAX {
            return Err(Failure::invalid(format!(
                "{len} bytes to exchange: BCL_BLOB_MAX is the most"
            )));
        }
        let mut blob = vec![0; len];
        // SAFETY: `mine` has `len` bytes by the contract of the header, unless `len` is 0.
        unsafe { std::ptr::copy(mine, blob.as_mut_ptr(), len) };
        let blobs = match &place.job {
            None => vec![blob],
            Some(job) => {
                let mut job = job.lock().unwrap_or_else(PoisonError::into_inner);
                job.exchange(&blob)?
            }
        };
        if let Some(rank) = blobs.iter().position(|other| other.len() != len) {
            return Err(Failure::new(
                code::JOB,
                format!(
                    "process {rank} gave {} bytes to the exchange and this one {len}: all have to give as many",
                    blobs[rank].len()
                ),
            ));
        }
        for (rank, blob) in blobs.iter().enumerate() {
            // SAFETY: `all` has room for one blob of each process by the contract of the header.
            unsafe { std::ptr::copy(blob.as_ptr(), all.add(rank * len), len) };
        }
        Ok(())
    })
}
