//! Memory bandwidth: copies from one part of a large buffer to another.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::machine::fits;
use crate::map::Map;
use crate::words::Words;

const PART: usize = 64 << 10; // bytes of one copy: a few µs

struct Copy {
    map: Map,
    half: usize,
    at: usize,
}

impl Antagonist for Copy {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let mut moved = 0;
        while moved < units {
            let part = PART.min(self.half - self.at);
            let (from, to) = self.map.bytes().split_at_mut(self.half);
            to[self.at..self.at + part].copy_from_slice(&from[self.at..self.at + part]);
            std::hint::black_box(&mut to[self.at]);
            self.at = (self.at + part) % self.half;
            moved += 2 * part as u64; // read and written
        }
        Ok(moved)
    }
}

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let bytes = fits(words.bytes("size")?.unwrap_or(256 << 20).max(2 * PART as u64))?;
    let half = bytes as usize / 2 / PART * PART;
    let worker = Copy { map: Map::new(bytes, true)?, half, at: 0 };
    Ok(Made::new(worker, format!("two halves of {} MiB", half >> 20)))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "membw",
        about: "copies through memory; bytes read and bytes written are counted",
        usage: "membw (--intensity 500MB/s)",
        params: &[super::size("both halves; several times the last-level cache", "256MiB")],
        needs: &[],
        source: "STREAM (McCalpin 1995), copy; iBench, section 3",
    },
    unit: "bytes",
    most: Most::PerCpuSecond,
    build,
};
