//! Memory capacity: holds memory and touches each of its pages once a second, so that it stays.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::sweep::{Order, Sweep};
use crate::antagonist::{Entry, Made, Most};
use crate::intensity::Intensity;
use crate::machine::{available_bytes, fits};
use crate::map::PAGE;
use crate::words::Words;

const LEAST_BYTES: u64 = PAGE as u64;

fn build(words: &Words, asked: Intensity) -> Result<Made, Fault> {
    let whole = fits(words.bytes("size")?.unwrap_or_else(|| available_bytes() / 4))?;
    let most = (whole / PAGE as u64).max(1) as f64; // every page, once a second
    let held = ((whole as f64 * asked.share(most)) as u64).max(LEAST_BYTES);
    let mut made = Made::new(
        Sweep::new(held, PAGE, Order::Rising, false)?,
        format!("holds {} MiB of {} MiB", held >> 20, whole >> 20),
    );
    made.most_per_s = Some(most);
    Ok(made)
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "memcap",
        about: "holds its share of a size of memory, each page touched once a second",
        usage: "memcap (-p size=1GiB --intensity 50%)",
        params: &[super::size("what 100 % is; by default a quarter of what is available", "")],
        needs: &[],
        source: "iBench, IISWC 2013, section 3",
    },
    unit: "pages",
    most: Most::Told,
    build,
};
