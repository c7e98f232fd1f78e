//! Buckets of a native histogram: 32 for each power of two, so each is 2.2 % wide.
//!
//! Source: Prometheus' exponential histograms, schema 5: bucket k holds (2^((k-1)/32), 2^(k/32)] seconds.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Of the native form: each power of two is cut in 2^5 buckets.
pub(super) const SCHEMA: i32 = 5;
const PARTS: usize = 1 << SCHEMA;
/// Powers of two, s: from 2^-30, below 1 ns, to 2^14, four and a half hours.
const LOWEST: i32 = -30;
const HIGHEST: i32 = 14;
/// How many buckets there are; the last one also holds whatever is longer.
pub const LEN: usize = (HIGHEST - LOWEST) as usize * PARTS + 1;
const MANTISSA_BITS: u32 = 52;
const MANTISSA: u64 = (1 << MANTISSA_BITS) - 1;
/// Classic buckets: two for each power of two, from 1 µs to 16 s.
const CLASSIC: std::ops::RangeInclusive<i32> = -20..=4;

/// The buckets of one thread, which alone writes them.
#[derive(Debug)]
pub struct Buckets {
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
    /// Mantissas of the ends within a power of two, ascending.
    ends: [u64; PARTS],
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            counts: (0..LEN).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
            ends: std::array::from_fn(|part| {
                f64::exp2(part as f64 / PARTS as f64).to_bits() & MANTISSA
            }),
        }
    }
}

impl Buckets {
    /// Counts one reply. Only the owning thread writes, so a load and a store do for an addition.
    #[inline]
    pub fn add(&self, ns: u64) {
        let bucket = &self.counts[self.index(ns)];
        bucket.store(bucket.load(Relaxed) + 1, Relaxed);
        self.sum_ns.store(self.sum_ns.load(Relaxed).saturating_add(ns), Relaxed);
    }

    /// Adds all of it to the sums of other threads.
    pub fn add_to(&self, times: &mut Vec<u64>, sum_ns: &mut u64) {
        times.resize(LEN, 0);
        for (sum, count) in times.iter_mut().zip(&self.counts) {
            *sum += count.load(Relaxed);
        }
        *sum_ns = sum_ns.saturating_add(self.sum_ns.load(Relaxed));
    }

    #[inline]
    fn index(&self, ns: u64) -> usize {
        let bits = (ns.max(1) as f64 * 1e-9).to_bits();
        let power = (bits >> MANTISSA_BITS) as i32 - 1023;
        let mantissa = bits & MANTISSA;
        let part = self.ends.partition_point(|&end| end < mantissa);
        ((power - LOWEST).max(0) as usize * PARTS + part).min(LEN - 1)
    }
}

/// The number by which Prometheus knows a bucket.
pub(super) fn number(index: usize) -> i32 {
    index as i32 + LOWEST * PARTS as i32
}

/// Upper end of a bucket, s; it belongs to the bucket.
pub(super) fn upper_s(index: usize) -> f64 {
    f64::exp2(f64::from(number(index)) / PARTS as f64)
}

/// Whether a classic bucket ends where this one does.
pub(super) fn is_classic(index: usize) -> bool {
    let (number, half) = (number(index), PARTS as i32 / 2);
    number % half == 0 && CLASSIC.contains(&number.div_euclid(PARTS as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_that_ends_at_or_above_it() {
        let buckets = Buckets::default();
        for ns in [1, 2, 999, 1000, 1024, 31_250_000, 62_500_000, 1_000_000_000, 3_600_000_000_000]
        {
            let (index, s) = (buckets.index(ns), ns as f64 * 1e-9);
            assert!(s <= upper_s(index), "{ns} is above its bucket");
            assert!(index == 0 || s > upper_s(index - 1), "{ns} is below its bucket");
        }
        assert_eq!(number(buckets.index(1_000_000_000)), 0, "1 s ends bucket 0");
        assert_eq!(number(buckets.index(1_000_000_001)), 1);
        assert_eq!(buckets.index(u64::MAX), LEN - 1);
        assert_eq!(buckets.index(0), buckets.index(1));
    }

    #[test]
    fn two_threads_are_added() {
        let (one, other) = (Buckets::default(), Buckets::default());
        (0..3).for_each(|_| one.add(1000));
        other.add(1000);
        other.add(5000);
        let (mut times, mut sum_ns) = (Vec::new(), 0);
        one.add_to(&mut times, &mut sum_ns);
        other.add_to(&mut times, &mut sum_ns);
        assert_eq!((times.iter().sum::<u64>(), sum_ns), (5, 9000));
        assert_eq!(times[one.index(1000)], 4);
    }
}
