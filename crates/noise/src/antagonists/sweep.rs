//! Touching memory line by line: what the antagonists on caches have in common.

use sojourn_base::Fault;

use super::spread::spread;
use crate::antagonist::Antagonist;
use crate::map::{LINE, Map};

/// In which order lines are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other: what a prefetcher likes.
    Rising,
    /// In a fixed order without pattern, each once before any comes again.
    Shuffled,
}

/// Reads and writes a word of every `stride` bytes of a mapping, again and again.
#[derive(Debug)]
pub struct Sweep {
    map: Map,
    spots: usize,
    stride_words: usize,
    step: usize,
    next: usize,
}

impl Sweep {
    /// Over `bytes`, every `stride` bytes.
    pub fn new(bytes: u64, stride: usize, order: Order, is_huge: bool) -> Result<Self, Fault> {
        let spots = (bytes as usize / stride).max(1);
        let step = match order {
            Order::Rising => 1,
            Order::Shuffled => spread(spots),
        };
        Ok(Self { map: Map::new(bytes, is_huge)?, spots, stride_words: stride / 8, step, next: 0 })
    }
}

impl Antagonist for Sweep {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let (spots, stride, step) = (self.spots, self.stride_words, self.step % self.spots);
        let words = self.map.words();
        let mut next = self.next;
        for _ in 0..units {
            // Of each page another line, or a few sets of the cache would take all of them.
            let line = if stride > LINE / 8 { next * (LINE / 8) % stride } else { 0 };
            let word = &mut words[next * stride + line];
            *word = std::hint::black_box(*word).wrapping_add(1);
            next += step;
            next -= if next >= spots { spots } else { 0 };
        }
        self.next = next;
        Ok(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_touched_once_before_any_comes_again() {
        for order in [Order::Rising, Order::Shuffled] {
            for lines in [1_u64, 7, 64, 1000, 4096] {
                let mut sweep = Sweep::new(lines * 64, LINE, order, false).unwrap();
                let before: Vec<u64> = sweep.map.words().iter().step_by(8).copied().collect();
                sweep.work(3 * lines).unwrap();
                let words = sweep.map.words();
                for (nth, was) in before.iter().take(lines as usize).enumerate() {
                    assert_eq!(words[nth * 8], was + 3, "{order:?} {lines} {nth}");
                }
            }
        }
    }

    #[test]
    fn a_sweep_of_pages_touches_each_at_a_line_of_its_own() {
        let mut sweep = Sweep::new(8 * 4096, 4096, Order::Rising, false).unwrap();
        sweep.work(8).unwrap();
        let words = sweep.map.words();
        let line = |page: usize| page * 512 + page * 8;
        assert!((1..8).all(|page| words[line(page)] == 1), "a line of each page");
    }
}
