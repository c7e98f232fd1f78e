//! The kernel side's maps as [`Counts`].

use libbpf_rs::{MapCore as _, MapFlags, Object};
use sojourn_base::Fault;

use crate::attach::hooks;
use crate::attach::kernel;
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::shared::Shared;
use crate::reconstruct::bins;
use crate::reconstruct::bytes::{u32_at, u64_at};
use crate::reconstruct::counts::{Connection, Counts, CpuSamples, Reads, Row, Thread};
use crate::reconstruct::cpu_samples::SoftirqCode;
use crate::reconstruct::framing;
use crate::reconstruct::layout::{conn_line, control, peek, row, tally, thread};
use crate::reconstruct::parts::Hook;
use crate::reconstruct::reasons::REASONS;
use crate::reconstruct::stages::COUNT;
use crate::reconstruct::window::clusters::{Head, Snapshot};

/// Threads that the tally has room for; slot 0 is none.
const MAX_THREADS: usize = (tally::SIZE - tally::THREADS) / thread::SIZE;
/// How many reads are looked into, and the most bytes that one shows.
const PEEKS: usize = 256;
const PEEK_BYTES: usize = peek::SIZE - peek::TEXT;

/// Refuses to read maps that are not shaped as this side believes.
pub fn check_sizes(object: &Object) -> Result<(), Fault> {
    for (name, bytes) in sizes() {
        let map = load::map(object, name)?;
        if map.value_size() as usize != bytes {
            return Err(Fault::failed(
                format!("{name} holds {} bytes, {bytes} were expected", map.value_size()),
                "src/bpf/shapes.h",
                "build it anew: the object and this program are not of one build",
            ));
        }
    }
    Ok(())
}

/// Sizes that both sides must agree on: map name, bytes of a value.
fn sizes() -> [(&'static str, usize); 5] {
    [
        ("rows", row::SIZE),
        ("thread_rows", 4 * bins::ROWS),
        (".bss.tally", tally::SIZE),
        (".data.control", control::SIZE),
        ("peeks", peek::SIZE),
    ]
}

// What is not in `layout.rs`: how many there are of each.
const _: () = assert!(row::SIZE == row::HIST + 4 * COUNT * bins::STAGE.count());
const _: () = assert!(row::HIST == row::STAGE_NS + 8 * COUNT);
const _: () =
    assert!(tally::THREADS.div_ceil(64) == (tally::TOTALS + 8 * bins::TOTAL.count()).div_ceil(64));

/// Reads everything that was counted.
pub fn counts(object: &Object, counts: &mut Counts) -> Result<(), Fault> {
    counts.rows = rows(object)?;
    counts.reasons = reasons(object)?;
    counts.cpu = stacks(object)?;
    counts.reads = reads(object)?;
    let all = value(object, ".bss.tally", &0_u32.to_ne_bytes())?;
    let words = |at: usize, n: usize| (0..n).map(move |i| at + 8 * i);
    let samples: Vec<u64> = words(tally::SAMPLES, 5).map(|at| u64_at(&all, at)).collect();
    (counts.cpu.user, counts.cpu.kernel) = (samples[0], samples[1]);
    counts.cpu.unknown += samples[2];
    counts.cpu.all = samples[3];
    counts.cpu.softirq += samples[4];
    counts.totals = words(tally::TOTALS, bins::TOTAL.count()).map(|at| u64_at(&all, at)).collect();
    let threads = (u64_at(&all, tally::THREADS_N) as usize).min(MAX_THREADS - 1);
    counts.threads =
        (1..=threads).map(|slot| one_thread(object, &all, slot)).collect::<Result<_, _>>()?;
    Ok(())
}

fn value(object: &Object, name: &str, key: &[u8]) -> Result<Vec<u8>, Fault> {
    let result = load::map(object, name)?.lookup(key, MapFlags::ANY).map_err(refused)?;
    Ok(result.unwrap_or_default())
}

fn rows(object: &Object) -> Result<Vec<(usize, Row)>, Fault> {
    let mut rows = Vec::new();
    for number in 0..bins::ROWS {
        let bytes = value(object, "rows", &(number as u32).to_ne_bytes())?;
        if u64_at(&bytes, row::REQUESTS) > 0 {
            rows.push((number, one_row(&bytes)));
        }
    }
    Ok(rows)
}

fn one_row(bytes: &[u8]) -> Row {
    let mut one = Row {
        requests: u64_at(bytes, row::REQUESTS),
        total_ns: u64_at(bytes, row::TOTAL_NS),
        imbalance_ns: u64_at(bytes, row::IMBALANCE_NS),
        bytes_in: u64_at(bytes, row::BYTES_IN),
        bytes_out: u64_at(bytes, row::BYTES_OUT),
        ..Row::default()
    };
    for stage in 0..COUNT {
        one.stage_ns[stage] = u64_at(bytes, row::STAGE_NS + 8 * stage);
        for (bin, count) in one.hist[stage].iter_mut().enumerate() {
            *count = u64::from(u32_at(bytes, row::HIST + 4 * (stage * bins::STAGE.count() + bin)));
        }
    }
    one
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
        let one = value(object, "peeks", &key.to_ne_bytes())?;
        let [bytes, shown] = [peek::BYTES, peek::SHOWN].map(|at| u32_at(&one, at) as usize);
        if bytes > 0 {
            let text = one.get(peek::TEXT..peek::TEXT + shown.min(PEEK_BYTES)).unwrap_or_default();
            reads.looked_into += 1;
            reads.several += u64::from(framing::holds_several(text, bytes));
        }
    }
    Ok(reads)
}

/// Samples in softIRQ, and those with a stack that shows nothing.
fn stacks(object: &Object) -> Result<CpuSamples, Fault> {
    let samples = load::map(object, "stack_samples")?;
    let stacks = load::map(object, "stacks")?;
    let mut cpu = CpuSamples::default();
    let keys: Vec<_> = samples.keys().collect();
    if keys.is_empty() {
        return Ok(cpu); // the kernel's symbols take 50 ms to read
    }
    let code = SoftirqCode::read();
    for key in keys {
        let result = samples.lookup(&key, MapFlags::ANY).map_err(refused)?;
        let n = u64_at(&result.unwrap_or_default(), 0);
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

fn one_thread(object: &Object, all: &[u8], slot: usize) -> Result<Thread, Fault> {
    let at = tally::THREADS + thread::SIZE * slot;
    let rows = value(object, "thread_rows", &(slot as u32).to_ne_bytes())?;
    Ok(Thread {
        tid: u32_at(all, at + thread::TID),
        tgid: u32_at(all, at + thread::TGID),
        requests: u64_at(all, at + thread::REQUESTS),
        total_ns: u64_at(all, at + thread::TOTAL_SUM_NS),
        run_ns: u64_at(all, at + thread::RUN_NS),
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
        let tally = Shared::new(&load::map(object, ".bss.tally")?, tally::SIZE)?;
        Ok(Self { rows: Shared::new(&rows, bytes)?, tally })
    }

    /// What was counted so far, without histograms of stages.
    pub fn snapshot(&self) -> Snapshot {
        let row_bytes = self.rows.bytes() / bins::ROWS;
        let head = |number: usize| {
            let word = |at: usize| self.rows.word(number * row_bytes + at);
            Head {
                requests: word(row::REQUESTS),
                total_ns: word(row::TOTAL_NS),
                stage_ns: std::array::from_fn(|k| word(row::STAGE_NS + 8 * k)),
            }
        };
        Snapshot {
            rows: (0..bins::ROWS).map(head).collect(),
            totals: (0..bins::TOTAL.count())
                .map(|k| self.tally.word(tally::TOTALS + 8 * k))
                .collect(),
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
            let word = |at| self.tally.word(tally::THREADS + thread::SIZE * slot + at);
            let (in_ns, seed) = (word(thread::SWITCHED_IN_NS), word(thread::SEED));
            let is_seen = word(thread::EPOCH) == epoch;
            let is_running = if is_seen {
                word(thread::OFF_KIND) as u32 == 0 && in_ns > 0
            } else {
                seed >> 32 == epoch && (seed >> 8) % 4 == 0 // ON_CPU
            };
            let from_ns = if is_seen { in_ns.max(started_ns) } else { started_ns };
            if is_running { ended_ns.saturating_sub(from_ns) } else { 0 }
        };
        let threads = (self.tally.word(tally::THREADS_N) as usize).min(MAX_THREADS - 1);
        by_slot.resize(threads.max(by_slot.len()), 0);
        (1..=threads).zip(by_slot).for_each(|(slot, ns)| *ns += ran(slot));
    }
}

/// Lines of the iterator; `tid` still holds the slot.
pub fn connections(bytes: &[u8]) -> Vec<Connection> {
    let line = |line: &[u8]| Connection {
        requests: u64_at(line, conn_line::REQUESTS),
        total_ns: u64_at(line, conn_line::TOTAL_SUM_NS),
        max_ns: u64_at(line, conn_line::TOTAL_MAX_NS),
        tid: u32_at(line, conn_line::THREAD),
        peer_port: u32_at(line, conn_line::PEER_PORT) as u16,
    };
    bytes.chunks_exact(conn_line::SIZE).map(line).collect()
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
