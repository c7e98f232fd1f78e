//! One request, as the kernel side sends it through the ring, and the list of the worst.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::reconstruct::layout::record;
use crate::reconstruct::stages::COUNT;

/// Bytes of one record in the ring.
pub const SIZE: usize = record::SIZE;
/// Of these, how the request begins.
pub const TEXT: usize = record::SIZE - record::TEXT;

const _: () = assert!(record::TEXT == record::STAGE_NS + 8 * COUNT);

/// One request as the kernel side sends it: its `struct record`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `CLOCK_MONOTONIC` when its first segment came in, ns.
    pub start_ns: u64,
    /// From then until its last reply segment was given to the driver, ns.
    pub total_ns: u64,
    /// Queuing while another worker slept, ns.
    pub imbalance_ns: u64,
    /// An id of the connection, unique while it is open.
    pub conn: u64,
    /// Slot of the thread that read it.
    pub thread: u32,
    /// Slot of the thread that wrote the reply; 0: unknown.
    pub writer: u32,
    /// Request bytes.
    pub bytes_in: u32,
    /// Reply bytes.
    pub bytes_out: u32,
    /// The client's port; 0: not known any more.
    pub peer_port: u16,
    /// It was asked for by `--records`, not for the worst list alone.
    pub is_full: bool,
    /// It is one of a random sixteenth, whatever it took: see `culprit::keep`.
    pub is_sample: bool,
    /// Number on its connection, from 1.
    pub seq: u32,
    /// Time per stage, ns.
    pub stage_ns: [u64; COUNT],
    /// How it begins, zeros behind; all zeros: not known, or no culprit is asked for.
    pub text: [u8; TEXT],
}

impl Record {
    /// From the ring's bytes; `None` if there are too few.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let u64_at = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
        let u32_at = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let u16_at = |at: usize| bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes);
        let mut stage_ns = [0; COUNT];
        for (stage, ns) in stage_ns.iter_mut().enumerate() {
            *ns = u64_at(record::STAGE_NS + 8 * stage)?;
        }
        Some(Self {
            start_ns: u64_at(record::START_NS)?,
            total_ns: u64_at(record::TOTAL_NS)?,
            imbalance_ns: u64_at(record::IMBALANCE_NS)?,
            conn: u64_at(record::CONN)?,
            thread: u32_at(record::THREAD)?,
            writer: u32_at(record::WRITER)?,
            bytes_in: u32_at(record::BYTES_IN)?,
            bytes_out: u32_at(record::BYTES_OUT)?,
            peer_port: u16_at(record::PEER_PORT)?,
            is_full: u16_at(record::WHY)? & 1 != 0,
            is_sample: u16_at(record::WHY)? & 2 != 0,
            seq: u32_at(record::SEQ)?,
            stage_ns,
            text: bytes.get(record::TEXT..SIZE)?.try_into().ok()?,
        })
    }
}

/// The slowest requests so far, at most `keep` of them.
#[derive(Debug)]
pub struct Worst {
    keep: usize,
    heap: BinaryHeap<Reverse<ByTotal>>,
}

#[derive(Debug, PartialEq, Eq)]
struct ByTotal(Record);

impl Ord for ByTotal {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.total_ns, self.0.start_ns).cmp(&(other.0.total_ns, other.0.start_ns))
    }
}

impl PartialOrd for ByTotal {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Worst {
    /// An empty list that keeps the `keep` slowest.
    pub fn new(keep: usize) -> Self {
        Self { keep, heap: BinaryHeap::with_capacity(keep + 1) }
    }

    /// Takes `record` in if it is among the worst.
    pub fn offer(&mut self, record: &Record) {
        if self.keep == 0 || record.total_ns < self.floor_ns() {
            return;
        }
        self.heap.push(Reverse(ByTotal(record.clone())));
        if self.heap.len() > self.keep {
            self.heap.pop();
        }
    }

    /// Totals below this need not be offered; `u64::MAX` if none is wanted.
    pub fn floor_ns(&self) -> u64 {
        match self.heap.peek() {
            _ if self.keep == 0 => u64::MAX,
            Some(Reverse(least)) if self.heap.len() >= self.keep => least.0.total_ns,
            _ => 1,
        }
    }

    /// The requests that were stored, slowest first.
    pub fn into_sorted(self) -> Vec<Record> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(ByTotal(record))| record).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record with a total and nothing else but the residual.
    pub fn record(total_ns: u64) -> Record {
        let mut stage_ns = [0; COUNT];
        stage_ns[COUNT - 1] = total_ns;
        Record {
            start_ns: 1,
            total_ns,
            imbalance_ns: 0,
            conn: 7,
            thread: 1,
            writer: 1,
            bytes_in: 10,
            bytes_out: 20,
            peer_port: 4000,
            is_full: true,
            is_sample: false,
            seq: 1,
            stage_ns,
            text: [0; TEXT],
        }
    }

    #[test]
    fn the_worst_are_kept_slowest_first_and_the_floor_rises() {
        let mut worst = Worst::new(3);
        assert_eq!(worst.floor_ns(), 1);
        for total in [5, 1, 9, 7, 3] {
            worst.offer(&record(total));
        }
        assert_eq!(worst.floor_ns(), 5);
        let totals: Vec<u64> = worst.into_sorted().iter().map(|r| r.total_ns).collect();
        assert_eq!(totals, [9, 7, 5]);
    }

    #[test]
    fn short_bytes_are_no_record() {
        assert_eq!(Record::decode(&[0; SIZE - 1]), None);
        assert!(Record::decode(&[0; SIZE]).is_some());
    }
}
