//! The second-level cache: lines of a footprint of its size, read and written in turn.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::sweep::{Order, Sweep};
use crate::antagonist::{Entry, Made, Most};
use crate::intensity::Intensity;
use crate::machine::{Cache, footprint};
use crate::map::LINE;
use crate::words::Words;

const USUAL_BYTES: u64 = 1 << 20; // where the kernel does not tell

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let result = footprint(words.bytes("size")?, Cache::L2, USUAL_BYTES)?;
    let sweep = Sweep::new(result.bytes, LINE, Order::Rising, true)?;
    Ok(Made::new(sweep, result.to_string()))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "l2",
        about: "reads and writes lines of the second-level cache",
        usage: "l2 (-p size=1MiB)",
        params: &[super::size("footprint; by default the cache's size", "")],
        needs: &[],
        source: "iBench, IISWC 2013, section 3",
    },
    unit: "lines",
    most: Most::PerCpuSecond,
    build,
};
