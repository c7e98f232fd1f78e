//! Counts of times in the bins of an `HdrHistogram` of three digits, for a loop of nanoseconds.
//!
//! The library looks its bin up by five fields, and retains the largest and the smallest value with
//! each time. Here the bin is a shift, and a section's counts go into the library's histogram at its
//! end, where they are the same bit for bit.

use sojourn_base::span::{MAX_NS, Times};

/// Bins of a power of two: 2,048 values are resolved, half of them by the power below.
const HALF_BITS: u32 = 10;
/// Values from here on are cut to [`MAX_NS`]: the next power of two above it.
const END_NS: u64 = (MAX_NS + 1).next_power_of_two();
const BINS: usize = ((END_NS.ilog2() - HALF_BITS) as usize + 1) << HALF_BITS;

/// Finite times of a section under way.
#[derive(Debug)]
pub(super) struct Counts {
    bins: Vec<u64>,
    len: u64,
    sum_ns: f64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { bins: vec![0; BINS], len: 0, sum_ns: 0.0 }
    }
}

impl Counts {
    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Times of the bin of `ns` and of those above.
    pub(super) fn from(&self, ns: u64) -> u64 {
        self.bins[bin_of(ns)..].iter().sum()
    }

    /// Adds one time, ns.
    #[inline]
    pub(super) fn add(&mut self, ns: u64) {
        self.bins[bin_of(ns)] += 1;
        self.len += 1;
        self.sum_ns += ns as f64;
    }

    /// The same times in the library's histogram; nothing is left here.
    pub(super) fn take(&mut self) -> Times {
        let counts = self.bins.iter_mut().enumerate();
        let filled = counts.filter(|(_, count)| **count > 0);
        let times = filled.map(|(bin, count)| (lowest(bin), std::mem::take(count)));
        let times = Times::counted(times, std::mem::take(&mut self.sum_ns));
        self.len = 0;
        times
    }
}

/// The bin of a time.
#[inline]
fn bin_of(ns: u64) -> usize {
    let ns = if ns < END_NS { ns } else { MAX_NS };
    let shift = (ns | ((2 << HALF_BITS) - 1)).ilog2() - HALF_BITS;
    ((shift as usize) << HALF_BITS) + (ns >> shift) as usize
}

/// The least time of a bin, ns.
fn lowest(bin: usize) -> u64 {
    let shift = (bin >> HALF_BITS).saturating_sub(1);
    ((bin - (shift << HALF_BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_base::rng::{RngExt, stream};

    #[test]
    fn they_are_the_librarys_bit_for_bit() {
        let mut rng = stream(1, "counts", 0);
        let (mut counts, mut times) = (Counts::default(), Times::new());
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let drawn = (0..10_000).map(|_| rng.random::<u64>() >> (rng.random::<u64>() % 64));
        for ns in
            edges.chain([0, MAX_NS - 1, MAX_NS, MAX_NS + 1, END_NS - 1, u64::MAX]).chain(drawn)
        {
            counts.add(ns);
            times.add(ns);
        }
        assert_eq!(counts.len(), times.count());
        for from in [0, 1, 2047, 2048, 5000, 1 << 30, MAX_NS, u64::MAX] {
            let above = times.histogram().count_between(from.min(MAX_NS), u64::MAX);
            assert_eq!(counts.from(from), above, "{from}");
        }
        let taken = counts.take();
        assert_eq!(taken.span(), times.span());
        assert_eq!(taken.histogram(), times.histogram());
        assert_eq!((counts.len(), counts.take().count()), (0, 0), "nothing is left");
    }

    #[test]
    fn the_least_time_of_a_bin_lies_in_it_and_the_one_below_does_not() {
        for bin in 1..BINS {
            assert_eq!((bin_of(lowest(bin)), bin_of(lowest(bin) - 1)), (bin, bin - 1));
        }
    }
}
