//! What `ucx_perftest -v` prints.

/// The columns that are used of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Median one-way time of the messages of this row.
    pub median_us: f64,
    /// Messages a second since the beginning.
    pub messages_per_s: f64,
}

const MEDIAN_COLUMN: usize = 1;
const OVERALL_RATE_COLUMN: usize = 7;
const COLUMNS: usize = 8;

/// The last row of figures in `output`: the final one, or the latest of a run that was cut short.
pub fn last_row(output: &str) -> Option<Row> {
    output.lines().rev().find_map(row)
}

fn row(line: &str) -> Option<Row> {
    // Rows while it runs are led by "[thread 0]", the final one is not.
    let line = line.rsplit(']').next()?;
    let columns: Option<Vec<f64>> = line.split(',').map(|c| c.trim().parse().ok()).collect();
    let columns = columns.filter(|columns| columns.len() == COLUMNS)?;
    Some(Row {
        median_us: columns[MEDIAN_COLUMN],
        messages_per_s: columns[OVERALL_RATE_COLUMN],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n";

    #[test]
    fn the_final_row_is_read() {
        let output = format!("{HEAD}200000,0.413,2.177,2.177,3.51,3.51,459448,459449\n");
        let row = last_row(&output).unwrap();
        assert_eq!((row.median_us, row.messages_per_s), (0.413, 459_449.0));
    }

    #[test]
    fn the_latest_row_of_a_run_that_was_cut_short_is_read() {
        let output = format!(
            "{HEAD}[thread 0]63972,0.413,7.914,7.914,0.96,0.96,126359,126359\n\
             [thread 0]135896,0.361,7.059,7.461,1.08,1.02,141673,134026\n[thread 0]2364"
        );
        assert_eq!(last_row(&output).unwrap().messages_per_s, 134_026.0);
    }

    #[test]
    fn anything_else_is_no_row() {
        assert_eq!(last_row(HEAD), None);
        assert_eq!(last_row("connect() failed: Connection refused"), None);
        assert_eq!(last_row(""), None);
    }
}
