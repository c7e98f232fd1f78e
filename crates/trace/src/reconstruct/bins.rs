//! Log-linear bins, as `bin_of` in `bpf/aggregate.h` makes them: exact below 2^sub, then 2^sub bins
//! per octave, so a bin is at most 2^-sub wide relative to its value. Merging is adding.

/// A set of bins: linear within each power of two.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    sub: u32,
    count: usize,
}

/// Totals of requests: 128 bins per octave, 0.8 % wide, up to 69 s.
pub const TOTAL: Bins = Bins { sub: 7, count: (36 - 7) * 128 + 128 };
/// Stages: 32 bins per octave, 3.1 % wide, up to 17 s.
pub const STAGE: Bins = Bins { sub: 5, count: (34 - 5) * 32 + 32 };
/// Rows: 16 per octave from `ROW_MIN` on; row 0 holds all below.
const ROW: Bins = Bins { sub: 4, count: 4096 };
const ROW_MIN: u32 = 11;
/// Rows in the kernel's table: 23 octaves of 16, and one for all below.
pub const ROWS: usize = 23 * 16 + 1;

impl Bins {
    /// How many bins the set has.
    pub const fn count(self) -> usize {
        self.count
    }

    /// Width of a bin relative to its value, at most.
    pub fn resolution(self) -> f64 {
        1.0 / f64::from(1 << self.sub)
    }

    /// The bin of a value; large values saturate in the last.
    pub fn of(self, v: u64) -> usize {
        if v >> self.sub == 0 {
            return v as usize;
        }
        let octave = v.ilog2() - self.sub;
        let bin = ((octave as usize + 1) << self.sub) + (v >> octave) as usize % (1 << self.sub);
        bin.min(self.count - 1)
    }

    /// Smallest value of a bin.
    pub fn low(self, bin: usize) -> u64 {
        let per_octave = 1_usize << self.sub;
        if bin < per_octave {
            return bin as u64;
        }
        let octave = bin / per_octave - 1;
        ((per_octave + bin % per_octave) as u64) << octave
    }

    /// Value at rank ceil(q · n), linear inside its bin. `zeros` values of 0 lie below the bins.
    pub fn quantile(self, counts: &[u64], zeros: u64, q: f64) -> Option<u64> {
        let n = zeros + counts.iter().sum::<u64>();
        if n == 0 {
            return None;
        }
        let rank = ((q * n as f64).ceil() as u64).clamp(1, n);
        if rank <= zeros {
            return Some(0);
        }
        let mut below = zeros;
        for (bin, &count) in counts.iter().enumerate() {
            if below + count >= rank {
                let (low, high) = (self.low(bin), self.low(bin + 1));
                let inside = ((rank - below) as f64 - 0.5) / count as f64;
                return Some(low + (inside * (high - low) as f64) as u64);
            }
            below += count;
        }
        None
    }
}

/// The row of a total.
pub fn row_of(total_ns: u64) -> usize {
    let first = ((ROW_MIN - ROW.sub + 1) as usize) << ROW.sub;
    (ROW.of(total_ns) + 1).saturating_sub(first).min(ROWS - 1)
}

/// Smallest total of a row.
pub fn row_low_ns(row: usize) -> u64 {
    let first = ((ROW_MIN - ROW.sub + 1) as usize) << ROW.sub;
    if row == 0 { 0 } else { ROW.low(first + row - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_its_bin_and_bins_are_no_wider_than_stated() {
        for bins in [TOTAL, STAGE] {
            let mut v = 0_u64;
            while v < 1 << 33 {
                let bin = bins.of(v);
                let (low, high) = (bins.low(bin), bins.low(bin + 1));
                assert!(low <= v && v < high, "{v}: [{low}, {high})");
                assert!(high - low == 1 || (high - low) as f64 <= bins.resolution() * low as f64);
                v += 1 + v / 97;
            }
            assert_eq!(bins.of(u64::MAX), bins.count() - 1, "saturates");
        }
    }

    #[test]
    fn rows_are_ordered_and_hold_their_totals() {
        for total in (0..200).map(|i| 1_000_u64 << (i / 10)).filter(|t| *t < 1 << 34) {
            let row = row_of(total);
            assert!(row_low_ns(row) <= total && (row + 1 == ROWS || total < row_low_ns(row + 1)));
        }
        assert_eq!(row_of(0), 0);
        assert_eq!(row_of(u64::MAX), ROWS - 1);
    }

    #[test]
    fn quantiles_of_a_known_set() {
        let mut counts = vec![0; TOTAL.count()];
        (1..=100_000_u64).for_each(|v| counts[TOTAL.of(v)] += 1);
        for q in [0.01, 0.5, 0.99, 0.999] {
            let got = TOTAL.quantile(&counts, 0, q).unwrap() as f64;
            assert!((got / (q * 1e5) - 1.0).abs() < 0.008, "{q}: {got}");
        }
        assert_eq!(TOTAL.quantile(&counts, 100_000, 0.5), Some(0), "half are zeros");
        assert_eq!(TOTAL.quantile(&[], 0, 0.5), None);
    }
}
