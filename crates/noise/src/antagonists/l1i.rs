//! The first-level instruction cache: a chain of jumps, one in each line of a footprint.
//!
//! The chain is made at start-up: in every line of a mapping a jump to another line, in an order
//! that no prefetcher follows; the last one returns.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::spread::spread;
use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::machine::{Cache, footprint};
use crate::map::{Code, LINE, Map};
use crate::words::Words;

const USUAL_BYTES: u64 = 32 << 10; // where the kernel does not tell
const RETURN: u8 = 0xc3; // x86: ret
const JUMP: u8 = 0xe9; // x86: jmp rel32
const JUMP_BYTES: usize = 5;

struct Chain {
    code: Code,
    lines: u64,
}

impl Antagonist for Chain {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        // SAFETY: the mapping holds the chain that `chain` wrote, which changes no register, ends
        // in a return, and lives as long as `self`. It is only made for the machine that it is for.
        let call = unsafe { std::mem::transmute::<*const u8, extern "C" fn()>(self.code.start()) };
        let times = units.div_ceil(self.lines).max(1);
        for _ in 0..times {
            call();
        }
        Ok(times * self.lines)
    }
}

/// Writes the chain: line 0 first, each of `lines` once.
fn chain(bytes: &mut [u8], lines: usize) {
    let step = spread(lines);
    let mut at = 0;
    for _ in 1..lines {
        let next = (at + step) % lines;
        let from = (at * LINE + JUMP_BYTES) as i64;
        let distance = i32::try_from((next * LINE) as i64 - from).unwrap_or(0);
        bytes[at * LINE] = JUMP;
        bytes[at * LINE + 1..at * LINE + JUMP_BYTES].copy_from_slice(&distance.to_le_bytes());
        at = next;
    }
    bytes[at * LINE] = RETURN;
}

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    if cfg!(not(target_arch = "x86_64")) {
        let what = "the chain of jumps is written for x86-64 only";
        return Err(Fault::usage(what, "kind", "choose another antagonist, such as l2"));
    }
    // Its jumps reach 2 GiB; no instruction cache comes near.
    let result = footprint(words.bytes("size")?, Cache::L1i, USUAL_BYTES)?;
    let bytes = result.bytes.min(1 << 30);
    let mut map = Map::new(bytes, false)?;
    let lines = (bytes as usize / LINE).max(1);
    chain(map.bytes(), lines);
    let worker = Chain { code: map.into_code()?, lines: lines as u64 };
    Ok(Made::new(worker, result.to_string()))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "l1i",
        about: "jumps from line to line of the first-level instruction cache",
        usage: "l1i (-p size=32KiB)",
        params: &[super::size("footprint; by default the cache's size", "")],
        needs: &["x86-64", "leave to make code"],
        source: "iBench, IISWC 2013, section 3",
    },
    unit: "jumps",
    most: Most::PerCpuSecond,
    build,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_comes_by_every_line_once_and_returns() {
        for lines in [1, 2, 3, 64, 512, 1000] {
            let mut bytes = vec![0_u8; lines * LINE];
            chain(&mut bytes, lines);
            let (mut at, mut seen) = (0_i64, 1);
            while bytes[at as usize] == JUMP {
                let far = bytes[at as usize + 1..at as usize + 5].try_into().unwrap();
                at += JUMP_BYTES as i64 + i64::from(i32::from_le_bytes(far));
                seen += 1;
            }
            assert_eq!((seen, bytes[at as usize]), (lines, RETURN), "{lines}");
        }
    }
}
