//! System calls: the shortest there is, again and again.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::words::Words;

struct Calls;

impl Antagonist for Calls {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        for _ in 0..units {
            // SAFETY: getppid takes nothing, changes nothing and cannot fail.
            std::hint::black_box(unsafe { libc::syscall(libc::SYS_getppid) });
        }
        Ok(units)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of the table")]
fn build(_words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    Ok(Made::new(Calls, "getppid".into()))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "syscalls",
        about: "enters the kernel and leaves it: getppid, again and again",
        usage: "syscalls (--intensity 100k/s)",
        params: &[],
        needs: &[],
        source: "getppid(2)",
    },
    unit: "calls",
    most: Most::PerCpuSecond,
    build,
};
