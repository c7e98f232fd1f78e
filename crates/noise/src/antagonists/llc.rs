//! The last-level cache: lines of a footprint in an order that no prefetcher follows.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::sweep::{Order, Sweep};
use crate::antagonist::{Entry, Made, Most};
use crate::intensity::Intensity;
use crate::machine::{Cache, footprint};
use crate::map::LINE;
use crate::words::Words;

const USUAL_BYTES: u64 = 16 << 20; // where the kernel does not tell

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let result = footprint(words.bytes("size")?, Cache::Last, USUAL_BYTES)?;
    let sweep = Sweep::new(result.bytes, LINE, Order::Shuffled, true)?;
    Ok(Made::new(sweep, result.to_string()))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "llc",
        about: "reads and writes lines of the last-level cache in no order",
        usage: "llc (-p size=32MiB)",
        params: &[super::size("footprint; by default the cache's size, 64 MiB at most", "")],
        needs: &[],
        source: "iBench, IISWC 2013, section 3",
    },
    unit: "lines",
    most: Most::PerCpuSecond,
    build,
};
