//! The CPU: arithmetic on registers, which wants nothing but time on a core.

use std::hint::black_box;

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::words::Words;

const STEPS: u32 = 256; // of a unit: some 0.3 µs

struct Cpu {
    state: u64,
}

impl Antagonist for Cpu {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let mut x = self.state;
        for _ in 0..units {
            for _ in 0..STEPS {
                x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        self.state = x;
        Ok(units)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of the table")]
fn build(_words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    Ok(Made::new(Cpu { state: 1 }, "256 multiplications a unit".into()))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "cpu",
        about: "arithmetic on registers: time on a core and nothing else",
        usage: "cpu",
        params: &[],
        needs: &[],
        source: "iBench, IISWC 2013, section 3; L17",
    },
    unit: "blocks",
    most: Most::PerCpuSecond,
    build,
};
