//! The kernel side's maps as [`Counts`].

use libbpf_rs::{MapCore as _, MapFlags, Object};
use sojourn_base::Fault;

use crate::bytes::{u32_at, u64_at};
use crate::counts::{Connection, Counts, CpuSamples, Reads, Row, Thread};
use crate::cpu_samples::SoftirqCode;
use crate::hooks;
use crate::kernel::refused;
use crate::parts::Hook;
use crate::reasons::REASONS;
use crate::shared::Shared;
use crate::stages::COUNT;
use crate::window::clusters::{Head, Snapshot};
use crate::{bins, control, framing, kernel, load, record};

/// Bytes of the kernel's `struct thread` and of `struct tally`.
const THREAD: usize = 1184;
const TALLY_HEAD: usize = 8 + 32 + 8 * bins::TOTAL.count();
const MAX_THREADS: usize = 1024;
pub const TALLY: usize = TALLY_HEAD + THREAD * MAX_THREADS;
/// Of `struct peek`: how many there are, and the most bytes that one shows.
const PEEKS: usize = 256;
pub const PEEK_BYTES: usize = 256;
/// Bytes of a `struct conn_line`.
const LINE: usize = 32;

/// Refuses to read maps that are not shaped as this side believes.
pub fn check_sizes(object: &Object) -> Result<(), Fault> {
    for (name, bytes) in sizes() {
        let map = load::map(object, name)?;
        if map.value_size() as usize != bytes {
            return Err(Fault::failed(
                format!("{name} holds {} bytes, {bytes} were expected", map.value_size()),
                "src/bpf/shapes.h",
                "bring src/read.rs in line with it",
            ));
        }
    }
    Ok(())
}

/// Sizes that both sides must agree on: map name, bytes of a value.
fn sizes() -> [(&'static str, usize); 5] {
    let stages = COUNT;
    [
        ("rows", 40 + 8 * stages + 4 * stages * bins::STAGE.count()),
        ("thread_rows", 4 * bins::ROWS),
        (".bss.tally", TALLY),
        (".data.control", control::BYTES),
        ("peeks", 8 + PEEK_BYTES),
    ]
}

const _: () = assert!(record::SIZE == 56 + 8 * COUNT + record::TEXT);

/// Reads everything that was counted.
pub fn counts(object: &Object, counts: &mut Counts) -> Result<(), Fault> {
    counts.rows = rows(object)?;
    counts.reasons = reasons(object)?;
    counts.cpu = stacks(object)?;
    counts.reads = reads(object)?;
    let tally = value(object, ".bss.tally", &0_u32.to_ne_bytes())?;
    let words = |at: usize, n: usize| (0..n).map(move |i| at + 8 * i);
    let samples: Vec<u64> = words(8, 4).map(|at| u64_at(&tally, at)).collect();
    (counts.cpu.user, counts.cpu.kernel) = (samples[0], samples[1]);
    counts.cpu.unknown += samples[2];
    counts.cpu.all = samples[3];
    counts.totals = words(40, bins::TOTAL.count()).map(|at| u64_at(&tally, at)).collect();
    let threads = (u64_at(&tally, 0) as usize).min(MAX_THREADS - 1);
    counts.threads =
        (1..=threads).map(|slot| thread(object, &tally, slot)).collect::<Result<_, _>>()?;
    Ok(())
}

fn value(object: &Object, name: &str, key: &[u8]) -> Result<Vec<u8>, Fault> {
    let found = load::map(object, name)?.lookup(key, MapFlags::ANY).map_err(refused)?;
    Ok(found.unwrap_or_default())
}

fn rows(object: &Object) -> Result<Vec<(usize, Row)>, Fault> {
    let mut rows = Vec::new();
    for number in 0..bins::ROWS {
        let bytes = value(object, "rows", &(number as u32).to_ne_bytes())?;
        if u64_at(&bytes, 0) > 0 {
            rows.push((number, row(&bytes)));
        }
    }
    Ok(rows)
}

fn row(bytes: &[u8]) -> Row {
    let mut row = Row {
        requests: u64_at(bytes, 0),
        total_ns: u64_at(bytes, 8),
        imbalance_ns: u64_at(bytes, 16),
        bytes_in: u64_at(bytes, 24),
        bytes_out: u64_at(bytes, 32),
        ..Row::default()
    };
    let hist_at = 40 + 8 * COUNT;
    for stage in 0..COUNT {
        row.stage_ns[stage] = u64_at(bytes, 40 + 8 * stage);
        for (bin, count) in row.hist[stage].iter_mut().enumerate() {
            *count = u64::from(u32_at(bytes, hist_at + 4 * (stage * bins::STAGE.count() + bin)));
        }
    }
    row
}

fn reasons(object: &Object) -> Result<Vec<u64>, Fault> {
    let map = load::map(object, "reasons")?;
    let sum = |index: usize| {
        let per_cpu = map.lookup_percpu(&(index as u32).to_ne_bytes(), MapFlags::ANY);
        per_cpu.map(|cpus| cpus.into_iter().flatten().map(|bytes| u64_at(&bytes, 0)).sum())
    };
    (0..REASONS.len()).map(sum).collect::<Result<_, _>>().map_err(refused)
}

/// The reads that were looked into, and how many of them held several requests.
fn reads(object: &Object) -> Result<Reads, Fault> {
    let mut reads = Reads::default();
    for key in 0..PEEKS as u32 {
        let peek = value(object, "peeks", &key.to_ne_bytes())?;
        let (bytes, shown) = (u32_at(&peek, 0) as usize, u32_at(&peek, 4) as usize);
        if bytes > 0 {
            let text = peek.get(8..8 + shown.min(PEEK_BYTES)).unwrap_or_default();
            reads.looked_into += 1;
            reads.several += u64::from(framing::holds_several(text, bytes));
        }
    }
    Ok(reads)
}

/// Samples in softIRQ, and those whose stack tells nothing.
fn stacks(object: &Object) -> Result<CpuSamples, Fault> {
    let code = SoftirqCode::read();
    let samples = load::map(object, "stack_samples")?;
    let stacks = load::map(object, "stacks")?;
    let mut cpu = CpuSamples::default();
    for key in samples.keys() {
        let found = samples.lookup(&key, MapFlags::ANY).map_err(refused)?;
        let n = u64_at(&found.unwrap_or_default(), 0);
        let stack = stacks.lookup(&key, MapFlags::ANY).ok().flatten().unwrap_or_default();
        let stack: Vec<u64> = (0..stack.len() / 8).map(|i| u64_at(&stack, 8 * i)).collect();
        if !code.is_known() || stack.is_empty() {
            cpu.unknown += n;
        } else if code.is_in(&stack) {
            cpu.softirq += n;
        }
    }
    Ok(cpu)
}

fn thread(object: &Object, tally: &[u8], slot: usize) -> Result<Thread, Fault> {
    // Small fields first, then times, stamps and sums; see shapes.h.
    let at = TALLY_HEAD + THREAD * slot;
    let rows = value(object, "thread_rows", &(slot as u32).to_ne_bytes())?;
    Ok(Thread {
        tid: u32_at(tally, at),
        tgid: u32_at(tally, at + 4),
        requests: u64_at(tally, at + REQUESTS),
        total_ns: u64_at(tally, at + REQUESTS + 8),
        run_ns: u64_at(tally, at + REQUESTS + 32),
        rows: (0..bins::ROWS).map(|row| u64::from(u32_at(&rows, 4 * row))).collect(),
        ..Thread::default()
    })
}

/// The kernel's memory that is read after every window.
pub struct Memory {
    rows: Shared,
    tally: Shared,
}

impl Memory {
    /// Maps it; nothing is copied.
    pub fn new(object: &Object) -> Result<Self, Fault> {
        let rows = load::map(object, "rows")?;
        let bytes = rows.value_size() as usize * bins::ROWS;
        let tally = Shared::new(&load::map(object, ".bss.tally")?, TALLY)?;
        Ok(Self { rows: Shared::new(&rows, bytes)?, tally })
    }

    /// What was counted so far, without histograms of stages.
    pub fn snapshot(&self) -> Snapshot {
        let row_bytes = self.rows.bytes() / bins::ROWS;
        let head = |number: usize| {
            let word = |k: usize| self.rows.word(number * row_bytes + 8 * k);
            Head {
                requests: word(0),
                total_ns: word(1),
                stage_ns: std::array::from_fn(|k| word(5 + k)),
            }
        };
        Snapshot {
            rows: (0..bins::ROWS).map(head).collect(),
            totals: (0..bins::TOTAL.count()).map(|k| self.tally.word(40 + 8 * k)).collect(),
        }
    }

    /// Adds what threads that are still on their CPU have run of a window since they came there, ns, by
    /// slot from 1 on: the hooks add a run when it ends.
    pub fn still_running(
        &self,
        epoch: u64,
        (started_ns, ended_ns): (u64, u64),
        by_slot: &mut Vec<u64>,
    ) {
        let ran = |slot: usize| {
            let word = |at| self.tally.word(TALLY_HEAD + THREAD * slot + at);
            let (in_ns, seed) = (word(REQUESTS + 40), word(REQUESTS + 56));
            let is_seen = word(REQUESTS + 48) == epoch;
            let is_running = if is_seen {
                word(16) as u32 == 0 && in_ns > 0
            } else {
                seed >> 32 == epoch && (seed >> 8) % 4 == 0 // ON_CPU
            };
            let from_ns = if is_seen { in_ns.max(started_ns) } else { started_ns };
            if is_running { ended_ns.saturating_sub(from_ns) } else { 0 }
        };
        let threads = (self.tally.word(0) as usize).min(MAX_THREADS - 1);
        by_slot.resize(threads.max(by_slot.len()), 0);
        (1..=threads).zip(by_slot).for_each(|(slot, ns)| *ns += ran(slot));
    }
}

/// Offset of `requests` in `struct thread`: 48 bytes of small fields, 8 times, 9 stamps, 3 times.
const REQUESTS: usize = 48 + 8 * 8 + 9 * 24 + 3 * 8;

/// Lines of the iterator; `tid` still holds the slot.
pub fn connections(bytes: &[u8]) -> Vec<Connection> {
    let line = |line: &[u8]| Connection {
        requests: u64_at(line, 0),
        total_ns: u64_at(line, 8),
        max_ns: u64_at(line, 16),
        tid: u32_at(line, 24),
        peer_port: u32_at(line, 28) as u16,
    };
    bytes.chunks_exact(LINE).map(line).collect()
}

/// Fills in what each hook missed, and what it cost if the kernel measured it.
pub fn costs(object: &Object, is_measured: bool, hooks: &mut [Hook]) {
    for hook in hooks::all() {
        let Some(program) = load::program(object, hook.program) else { continue };
        let Ok(cost) = kernel::program_cost(&program) else { continue };
        let Some(line) = hooks.iter_mut().find(|line| line.name == hook.point) else { continue };
        line.missed = cost.missed;
        if is_measured {
            line.runs = Some(cost.runs);
            line.run_ns = (cost.runs > 0).then(|| cost.run_ns as f64 / cost.runs as f64);
        }
    }
}

/// Instructions the verifier went through, per program.
pub fn verifier_costs(object: &Object) -> Vec<(String, u32)> {
    hooks::all()
        .filter_map(|hook| {
            let program = load::program(object, hook.program)?;
            Some((hook.program.to_owned(), kernel::program_cost(&program).ok()?.verified))
        })
        .collect()
}
