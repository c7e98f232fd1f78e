//! What the kernel side kept, as it is read when the trace ends. Plain data; no kernel here.

use crate::reconstruct::bins;
use crate::reconstruct::reasons::{REASONS, Weight};
use crate::reconstruct::record::Record;
use crate::reconstruct::stages::COUNT;

/// Requests of similar total. The kernel's `struct row`.
#[derive(Clone, Debug)]
pub struct Row {
    /// How many.
    pub requests: u64,
    /// Sum of their totals, ns.
    pub total_ns: u64,
    /// Sum of their imbalance, ns.
    pub imbalance_ns: u64,
    /// Request bytes.
    pub bytes_in: u64,
    /// Reply bytes.
    pub bytes_out: u64,
    /// Sum per stage, ns.
    pub stage_ns: [u64; COUNT],
    /// Per stage, counts by [`bins::STAGE`]; zeros are not in it.
    pub hist: Vec<Vec<u64>>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            requests: 0,
            total_ns: 0,
            imbalance_ns: 0,
            bytes_in: 0,
            bytes_out: 0,
            stage_ns: [0; COUNT],
            hist: vec![vec![0; bins::STAGE.count()]; COUNT],
        }
    }
}

impl Row {
    /// Adds one request: what `add_to_row` does in the kernel.
    pub fn add(&mut self, record: &Record) {
        self.requests += 1;
        self.total_ns += record.total_ns;
        self.imbalance_ns += record.imbalance_ns;
        self.bytes_in += u64::from(record.bytes_in);
        self.bytes_out += u64::from(record.bytes_out);
        for (stage, &ns) in record.stage_ns.iter().enumerate() {
            self.stage_ns[stage] += ns;
            if ns > 0 {
                self.hist[stage][bins::STAGE.of(ns)] += 1;
            }
        }
    }

    /// Adds all counts and sums of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.total_ns += other.total_ns;
        self.imbalance_ns += other.imbalance_ns;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        for stage in 0..COUNT {
            self.stage_ns[stage] += other.stage_ns[stage];
            for (own, others) in self.hist[stage].iter_mut().zip(&other.hist[stage]) {
                *own += others;
            }
        }
    }
}

/// One thread of the service.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub tgid: u32,
    /// Name in /proc, if it still lived.
    pub comm: String,
    /// Requests it read.
    pub requests: u64,
    /// Sum of their totals, ns.
    pub total_ns: u64,
    /// Time on a CPU, ns.
    pub run_ns: u64,
    /// Requests by row of their total.
    pub rows: Vec<u64>,
}

/// One connection that was open at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connection {
    /// The client's port.
    pub peer_port: u16,
    /// Requests.
    pub requests: u64,
    /// Sum of totals, ns.
    pub total_ns: u64,
    /// Largest total, ns.
    pub max_ns: u64,
    /// Thread id that read its last request.
    pub tid: u32,
}

/// CPU samples taken while a thread of the service was on a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuSamples {
    /// In user mode.
    pub user: u64,
    /// In the kernel, softIRQ included.
    pub kernel: u64,
    /// In the kernel, serving softIRQs.
    pub softirq: u64,
    /// In the kernel, without a stack that shows where.
    pub unknown: u64,
    /// All samples, whatever ran.
    pub all: u64,
}

/// Reads that were looked into, every 64th of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reads {
    /// How many.
    pub looked_into: u64,
    /// Of these, with more than one request in them.
    pub several: u64,
}

/// Everything that the kernel counted, read once.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Rows that hold requests, by their number, ascending.
    pub rows: Vec<(usize, Row)>,
    /// Requests by [`bins::TOTAL`].
    pub totals: Vec<u64>,
    /// Counts by [`REASONS`].
    pub reasons: Vec<u64>,
    /// Threads that were seen.
    pub threads: Vec<Thread>,
    /// Connections open at the end.
    pub connections: Vec<Connection>,
    /// CPU samples.
    pub cpu: CpuSamples,
    /// How many requests a read brings.
    pub reads: Reads,
    /// Length of the trace, ns.
    pub duration_ns: u64,
    /// Time of it in which arrivals were counted, ns.
    pub traced_ns: u64,
}

impl Counts {
    /// Requests whose stages are known.
    pub fn matched(&self) -> u64 {
        self.rows.iter().map(|(_, row)| row.requests).sum()
    }

    /// The count of one reason.
    pub fn reason(&self, name: &str) -> u64 {
        REASONS
            .iter()
            .position(|reason| reason.name == name)
            .and_then(|index| self.reasons.get(index).copied())
            .unwrap_or(0)
    }

    /// Sum over the reasons of one weight.
    pub fn weighing(&self, weight: Weight) -> u64 {
        let of = |(reason, n): (&crate::reconstruct::reasons::Reason, &u64)| {
            (reason.weight == weight).then_some(*n)
        };
        REASONS.iter().zip(&self.reasons).filter_map(of).sum()
    }

    /// All rows from `first` on, added.
    pub fn from_row(&self, first: usize) -> Row {
        let mut sum = Row::default();
        self.rows.iter().filter(|(row, _)| *row >= first).for_each(|(_, row)| sum.merge(row));
        sum
    }
}
/// Slots become thread ids: slot 1 is the first.
pub fn tid_of(tids: &[u32], slot: u32) -> u32 {
    tids.get((slot as usize).wrapping_sub(1)).copied().unwrap_or(0)
}
