//! The TLB: one line of every page of more pages than it holds, in no order.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::sweep::{Order, Sweep};
use crate::antagonist::{Entry, Made, Most};
use crate::intensity::Intensity;
use crate::machine::fits;
use crate::map::PAGE;
use crate::words::Words;

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let bytes = fits(words.bytes("size")?.unwrap_or(64 << 20))?;
    let sweep = Sweep::new(bytes, PAGE, Order::Shuffled, false)?;
    Ok(Made::new(sweep, format!("{} pages of 4 KiB", bytes as usize / PAGE)))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "tlb",
        about: "touches pages in random order, more than there are cached address translations",
        usage: "tlb (-p size=64MiB)",
        params: &[super::size("footprint; 64 MiB are 16384 pages", "64MiB")],
        needs: &[],
        source: "L17 (TLB pollution)",
    },
    unit: "pages",
    most: Most::PerCpuSecond,
    build,
};
