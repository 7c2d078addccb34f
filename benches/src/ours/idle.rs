//! What a port costs that waits for messages nobody sends.

use std::time::{Duration, Instant};

use bcl::Which;
use rustix::time::{ClockId, clock_gettime};

use crate::error::{Error, Result};
use crate::ours::player::{Player, unexpected};

/// Percent of a core that the process of rank 0 uses while its port waits, all threads together.
///
/// # Errors
/// When something arrives meanwhile.
pub fn measure_percent(player: &mut Player, duration: Duration) -> Result<f64> {
    player.begin()?;
    if player.rank != 0 {
        player.send(player.address_of(0), &[])?;
        player.receive(&mut [])?;
        return Ok(0.0);
    }
    // A port that nobody knows would have it easy.
    let partner = player.receive(&mut [])?;
    let begin = Instant::now();
    let used_before = processor_time()?;
    if let Some(event) = player.port.wait(Which::Recv, Some(duration))? {
        return Err(unexpected("nothing", &event));
    }
    let used = processor_time()?.saturating_sub(used_before);
    let percent = 100.0 * used.as_secs_f64() / begin.elapsed().as_secs_f64();
    player.send(partner, &[])?;
    Ok(percent)
}

/// Of all threads of this process.
fn processor_time() -> Result<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).map_err(|_| Error::Unexpected {
        expected: "a positive processor time",
        got: format!("{time:?}"),
    })
}
