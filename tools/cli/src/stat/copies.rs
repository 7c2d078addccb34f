//! `bcl stat --copies`.

use bcl_observe::{CopyCost, CopyWay};
use serde_json::json;

use super::Watched;
use crate::failure::Result;
use crate::output;

/// What the ways that long messages take within the node have cost each port's process.
pub fn show(watched: &Watched, as_json: bool) -> Result<()> {
    if !as_json {
        let heads = CopyWay::ALL.map(|way| format!(" {:>20}", format!("{} GB/s", way.name())));
        let heads = heads.concat();
        output::line(format_args!(
            "{:<21} {:>8} {:>9}{heads}  takes",
            "port", "pid", "from KiB"
        ))?;
    }
    for (address, port) in &watched.ports {
        let pid = port.identity().pid;
        for cost in port.copy_costs().filter(is_known) {
            let takes = cost.best().map(CopyWay::name);
            let rates = CopyWay::ALL.map(|way| cost.gb_per_s(way));
            let from_kib = cost.from_kib;
            if as_json {
                let [single_copy, shared_memory, past_caches] = rates;
                output::json(&json!({
                    "port": address.to_string(),
                    "pid": pid,
                    "from_kib": from_kib,
                    "single_copy_gb_per_s": single_copy,
                    "shared_memory_gb_per_s": shared_memory,
                    "past_caches_gb_per_s": past_caches,
                    "takes": takes,
                }))?;
                continue;
            }
            let cell = |rate: Option<f64>| match rate {
                Some(rate) => format!(" {rate:>20.1}"),
                None => format!(" {:>20}", "-"),
            };
            output::line(format_args!(
                "{:<21} {pid:>8} {from_kib:>9}{}  {}",
                address.to_string(),
                rates.map(cell).concat(),
                takes.unwrap_or("-")
            ))?;
        }
    }
    Ok(())
}

fn is_known(cost: &CopyCost) -> bool {
    cost.ps_per_kib.iter().any(|ps| *ps > 0)
}
