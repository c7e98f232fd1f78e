//! A service whose class is known, because it was built so: what the classifier is held against.
//!
//! A query computes for `busy_us` of CPU time and then waits for `wait_us`, as for a service behind it.
//! Nothing is shared by workers that scale. Those that lock do both under one lock. Those that write
//! put a block on the disk before they wait, and the streamers' computing is to read memory.
//!
//! Source: PAPERS P1, P17 for the classes.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::clock::thread_cpu_ns;
use sojourn_base::kind::{self, Kind, Param};

use super::{Desk, Work, WorkKind};
use crate::args::Settings;
use crate::numbers::{at, stream};

pub(super) const KIND: WorkKind = WorkKind {
    kind: Kind {
        name: "planted",
        about: "a service of known class: it scales, locks, writes or streams",
        usage: "planted",
        params: &[
            Param {
                name: "does",
                unit: "",
                about: "scales, locks, writes or streams",
                default: "scales",
                range: "",
            },
            Param {
                name: "busy_us",
                unit: "us",
                about: "CPU time of a query",
                default: "1000",
                range: "0..1000000",
            },
            Param {
                name: "wait_us",
                unit: "us",
                about: "what a query waits for something else",
                default: "1000",
                range: "0..1000000",
            },
        ],
        needs: &[],
        source: "PAPERS P1, P17",
    },
    build,
};

const US_MAX: u64 = 1_000_000;
/// Steps of computing between two looks at the clock: about a microsecond.
const STEPS: u64 = 500;
/// What a writer puts on the disk with every query, and how many such a file has room for.
const BLOCK_BYTES: usize = 64 << 10;
const BLOCKS: u64 = 64;
/// Words that streamers read, more than caches hold, and words between two looks at the clock.
const STREAMED: u64 = 16 << 20;
const RUN: usize = 4096;
/// Parts of that memory at whose beginnings workers begin.
const DESKS: usize = 8;
/// Streams of the seed.
const WORDS: u64 = 1 << 35;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Scales,
    Locks,
    Writes,
    Streams,
}

const WAYS: [(&str, Does); 4] = [
    ("scales", Does::Scales),
    ("locks", Does::Locks),
    ("writes", Does::Writes),
    ("streams", Does::Streams),
];

#[derive(Debug)]
struct Planted {
    does: Does,
    busy_ns: u64,
    wait: Duration,
    words: u64,
    /// Of those that lock.
    lock: Mutex<()>,
    /// Of streamers; else empty.
    memory: Vec<u64>,
    /// Of writers.
    folder: PathBuf,
    desks: AtomicU32,
}

fn build(settings: &Settings) -> Result<Box<dyn Work>, Fault> {
    let does = way(&settings.does)?;
    for (value, name) in [(settings.busy_us, "busy_us"), (settings.wait_us, "wait_us")] {
        if value > US_MAX {
            let what = format!("{name} is {value}");
            return Err(Fault::usage(what, name, format!("give 0 to {US_MAX} microseconds")));
        }
    }
    let words = if does == Does::Streams { STREAMED } else { 0 };
    if does == Does::Writes {
        block(&settings.folder, "0").map(drop)?;
    }
    Ok(Box::new(Planted {
        does,
        busy_ns: settings.busy_us * 1000,
        wait: Duration::from_micros(settings.wait_us),
        words: stream(settings.seed, WORDS),
        lock: Mutex::new(()),
        memory: (0..words).map(|nth| at(settings.seed, nth)).collect(),
        folder: settings.folder.clone(),
        desks: AtomicU32::new(0),
    }))
}

fn way(name: &str) -> Result<Does, Fault> {
    let result = WAYS.iter().find(|(known, _)| *known == name).map(|(_, does)| *does);
    let names = WAYS.map(|(name, _)| name);
    result.ok_or_else(|| kind::unknown(name, names, "planted service", "does"))
}

/// A file of one worker's blocks, that no one else finds once it is open.
fn block(folder: &Path, name: &str) -> Result<File, Fault> {
    let path = folder.join(format!("planted-{}-{name}", std::process::id()));
    let opened = OpenOptions::new().write(true).create_new(true).open(&path);
    opened.and_then(|file| fs::remove_file(&path).map(|()| file)).map_err(|error| {
        let fix = "give a folder on a disk, with 4 MB for each worker";
        Fault::failed(format!("nothing can be written: {error}"), path.display().to_string(), fix)
    })
}

impl Work for Planted {
    fn desk(&self) -> Box<dyn Desk + '_> {
        let nth = self.desks.fetch_add(1, Relaxed);
        let is_writer = self.does == Does::Writes;
        let file = is_writer.then(|| block(&self.folder, &nth.to_string()).ok()).flatten();
        // Far from each other, so that none finds in a cache what another has read.
        let place = nth as usize * (self.memory.len() / DESKS);
        Box::new(At { work: self, file, block: vec![0; BLOCK_BYTES], place })
    }
}

/// A worker's own file, and where it reads on.
struct At<'a> {
    work: &'a Planted,
    file: Option<File>,
    block: Vec<u8>,
    place: usize,
}

impl At<'_> {
    /// Computes, or reads memory, for the CPU time of a query.
    fn busy(&mut self) {
        let (until, words) = (thread_cpu_ns() + self.work.busy_ns, self.work.memory.len());
        let mut seen = 0_u64;
        while thread_cpu_ns() < until {
            if words == 0 {
                seen = (0..STEPS).fold(seen, at);
            } else {
                self.place = (self.place + RUN) % (words - RUN);
                let run = &self.work.memory[self.place..][..RUN];
                seen = run.iter().fold(seen, |sum, word| sum.wrapping_add(*word));
            }
        }
        black_box(seen);
    }

    /// What a query waits for: the disk, of those that write, and something behind this service.
    /// `false`: nothing could be written.
    fn waits(&mut self, query: u64, word: u64) -> bool {
        let is_done = self.work.does != Does::Writes || self.is_written(query, word);
        if is_done && !self.work.wait.is_zero() {
            thread::sleep(self.work.wait);
        }
        is_done
    }

    fn is_written(&mut self, query: u64, word: u64) -> bool {
        self.block[..8].copy_from_slice(&word.to_le_bytes());
        let place = query % BLOCKS * BLOCK_BYTES as u64;
        let Some(file) = &self.file else { return false };
        file.write_all_at(&self.block, place).and_then(|()| file.sync_data()).is_ok()
    }
}

impl Desk for At<'_> {
    fn answer(&mut self, query: u64, reply: &mut String) {
        let work = self.work;
        let word = at(work.words, query);
        let held = (work.does == Does::Locks)
            .then(|| work.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.busy();
        let is_done = self.waits(query, word);
        drop(held);
        if is_done {
            let _ = writeln!(reply, "query {query:>10} word {word:016x}"); // a string takes all
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn planted(does: &str) -> Box<dyn Work> {
        let (busy_us, wait_us) = (100, 2000);
        let folder = std::env::temp_dir();
        let settings =
            Settings { does: does.into(), busy_us, wait_us, folder, ..Settings::default() };
        build(&settings).unwrap()
    }

    /// How long four workers take for ten queries each.
    fn taken(work: &dyn Work) -> Duration {
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (mut desk, mut reply) = (work.desk(), String::new());
                    (0..10).for_each(|query| desk.answer(query, &mut reply));
                    assert_eq!(reply.lines().count(), 10);
                });
            }
        });
        began.elapsed()
    }

    #[test]
    fn who_locks_waits_for_all_others_and_who_scales_for_none() {
        // Forty waits of 2 ms one after the other are a bound from below on any machine.
        assert!(taken(&*planted("locks")) >= Duration::from_millis(80));
        let held = planted("locks");
        let free = (0..5).map(|_| taken(&*planted("scales"))).min().unwrap();
        let locked = (0..5).map(|_| taken(&*held)).min().unwrap();
        assert!(free < locked, "{free:?}, {locked:?}");
    }

    #[test]
    fn a_query_takes_the_cpu_time_that_was_asked_for() {
        for does in ["scales", "streams"] {
            let (work, mut reply) = (planted(does), String::new());
            let mut desk = work.desk();
            let before = thread_cpu_ns();
            (0..20).for_each(|query| desk.answer(query, &mut reply));
            assert!(thread_cpu_ns() - before >= 20 * 100_000, "{does}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused_before_anything_is_served() {
        let settings = Settings {
            does: "writes".into(),
            folder: "/nowhere/at/all".into(),
            ..Settings::default()
        };
        let refused = build(&settings).map(drop).unwrap_err().to_string();
        assert!(refused.contains("nothing can be written"), "{refused}");
        let unknown = Settings { does: "scale".into(), ..Settings::default() };
        let refused = build(&unknown).map(drop).unwrap_err().to_string();
        assert!(refused.contains("did you mean scales?"), "{refused}");
    }
}
