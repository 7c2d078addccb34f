//! The machine's limits as a table or as lines of JSON.

use serde::Serialize;

use crate::cores::{Cores, pin_thread};
use crate::error::Result;
use crate::figure;
use crate::limits::{cache_line, memcpy};

const ROUND_TRIPS: usize = 1_000_000;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// One limit; the names are those of `bcl perf --json`.
#[derive(Serialize)]
struct Limit {
    bench: &'static str,
    size_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    one_way_us_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mb_per_s: Option<f64>,
}

/// Measures and prints them.
///
/// # Errors
/// When a thread cannot be pinned.
pub fn print(json: bool) -> Result<()> {
    for limit in measure()? {
        if json {
            println!("{}", serde_json::json!(limit));
            continue;
        }
        let size = limit.size_bytes;
        let what = format!("{} of {size} B", limit.bench);
        if let Some(us) = limit.one_way_us_p50 {
            println!("{what:<32} {:>10} us one way", figure::text(us));
        }
        if let Some(rate) = limit.mb_per_s {
            println!("{what:<32} {:>10} MB/s", figure::text(rate));
        }
    }
    Ok(())
}

fn measure() -> Result<Vec<Limit>> {
    let cores = Cores::available()?;
    let mut limits = vec![Limit {
        bench: "cache line",
        size_bytes: 64,
        one_way_us_p50: Some(cache_line::measure_us(cores, ROUND_TRIPS)?),
        mb_per_s: None,
    }];
    pin_thread(cores.first)?;
    for (size_bytes, total_bytes) in [
        (256 * KIB, 4096 * MIB),
        (4 * MIB, 2048 * MIB),
        (256 * MIB, 1024 * MIB),
    ] {
        limits.push(Limit {
            bench: "memcpy",
            size_bytes,
            one_way_us_p50: None,
            mb_per_s: Some(memcpy::measure_mb_per_s(size_bytes, total_bytes)),
        });
    }
    Ok(limits)
}
