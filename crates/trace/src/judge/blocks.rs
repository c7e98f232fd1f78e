//! What each window or slice of a trace saw, as it is written: differences between traces are resampled from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reconstruct::bins;
use crate::reconstruct::stages::STAGES;
use crate::reconstruct::window::clusters::Clusters;

/// Blocks in a result at most: neighbours are put together.
pub const MOST: usize = 64;
/// Requests below this quantile of the total are added up, those above lie in rows of similar total.
pub const ROWS_FROM: f64 = 0.9;
/// Columns before those of the stages.
pub const HEADS: [&str; 3] = ["block", "from_ns", "requests"];

/// Sums over the requests of each block, by total. A block is a window, or a tenth of a second of a trace
/// that is attached all the time; in a long trace it is several of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// `block`, `from_ns` (least total of the row), `requests`, then the stages that took any time: the sum of
    /// each, ns.
    pub columns: Vec<String>,
    /// The rows, numbers parted by commas. The row from 0 has all below p90.
    pub rows: Vec<String>,
}

impl Blocks {
    /// What `clusters` saw, by row from `first` on.
    pub fn of(clusters: &Clusters, first: usize) -> Self {
        let blocks = clusters.rows_of_each(MOST, first);
        let heads = || blocks.iter().flatten().map(|(_, head)| head);
        let taken: Vec<usize> =
            (0..STAGES.len()).filter(|&k| heads().any(|head| head.stage_ns[k] > 0)).collect();
        let names = taken.iter().map(|&k| STAGES[k].name);
        let mut rows = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            for (row, head) in block {
                let first = [number as u64, bins::row_low_ns(*row), head.requests];
                let cells = first.into_iter().chain(taken.iter().map(|&k| head.stage_ns[k]));
                rows.push(cells.map(|cell| cell.to_string()).collect::<Vec<_>>().join(","));
            }
        }
        Self { columns: HEADS.into_iter().chain(names).map(str::to_owned).collect(), rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::stages::COUNT;
    use crate::reconstruct::window::clusters::Snapshot;

    #[test]
    fn rows_hold_every_request_and_all_of_its_time() {
        let (mut clusters, mut seen) = (Clusters::default(), Snapshot::default());
        let stages = |total: u64| {
            let mut stage_ns = [0; COUNT];
            (stage_ns[2], stage_ns[COUNT - 1]) = (total / 3, total - total / 3);
            stage_ns
        };
        for block in 1..=3_u64 {
            for request in 1..=100 {
                seen.count(block * request * 1000, stages(block * request * 1000));
            }
            clusters.add(seen.clone());
        }
        let blocks = Blocks::of(&clusters, bins::row_of(90_000));
        assert_eq!(blocks.columns, ["block", "from_ns", "requests", "tcp", "residual"]);
        let cells = |row: &String| row.split(',').map(|cell| cell.parse().unwrap()).collect();
        let rows: Vec<Vec<u64>> = blocks.rows.iter().map(cells).collect();
        let sum = |k: usize| rows.iter().map(|row| row[k]).sum::<u64>();
        assert_eq!((sum(2), sum(3) + sum(4)), (300, 6 * 5050 * 1000));
        assert_eq!(
            rows.iter().filter(|row| row[1] == 0).map(|row| row[0]).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert!(
            rows.iter().all(|row| row[1] == 0 || row[1] >= bins::row_low_ns(bins::row_of(90_000)))
        );
    }
}
