//! Where windows lie: one in each slot of time, at a place drawn uniformly from it.
//!
//! So every moment is as likely to be inside as any other, and nothing periodic keeps step with the
//! windows. Windows at equal distances would fall in step with a timer; exponential gaps would leave
//! a short trace with few windows, or many, by chance.

use sojourn_base::rng::{self, Rng, RngExt as _};

/// Lengths differ by so much of their mean to either side.
const SPREAD: f64 = 0.25;

/// The windows' places and lengths, from one seed.
pub struct Draw {
    rng: Rng,
}

impl Draw {
    /// The same seed gives the same draws.
    pub fn new(seed: u64) -> Self {
        Self { rng: rng::stream(seed, "windows", 0) }
    }

    /// Length of a window, ns, uniform around `mean_ns`.
    pub fn length_ns(&mut self, mean_ns: f64) -> u64 {
        let factor = 1.0 + SPREAD * (2.0 * self.rng.random::<f64>() - 1.0);
        (mean_ns * factor) as u64
    }

    /// Where in a slot of `slot_ns` a window begins that needs `needed_ns` of it, from its begin.
    pub fn place_ns(&mut self, slot_ns: f64, needed_ns: f64) -> u64 {
        (self.rng.random::<f64>() * (slot_ns - needed_ns).max(0.0)) as u64
    }

    /// A salt for the hash of flows.
    pub fn salt(&mut self) -> u64 {
        self.rng.random::<u64>() & 0xffff_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_sequence() {
        let all = |seed| {
            let mut draw = Draw::new(seed);
            (0..50).map(|_| (draw.length_ns(2e7), draw.place_ns(6e8, 2e7))).collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn lengths_have_their_mean_and_their_bounds() {
        let mut draw = Draw::new(3);
        let lengths: Vec<f64> = (0..100_000).map(|_| draw.length_ns(2e7) as f64).collect();
        assert!(lengths.iter().all(|ns| (1.5e7..=2.5e7).contains(ns)));
        let mean = lengths.iter().sum::<f64>() / 1e5;
        // Uniform over 1e7: standard deviation 1e7 / √12.
        let sigma = 1e7 / 12_f64.sqrt() / 1e5_f64.sqrt();
        assert!((mean - 2e7).abs() < 5.0 * sigma, "five sigma: {mean}");
    }

    /// Every phase of a timer of 100 ms is hit equally often, though slots are three of its periods.
    #[test]
    fn no_timer_is_in_step_with_the_windows() {
        let (slot, period, n) = (3e8, 1e8, 200_000);
        let mut draw = Draw::new(4);
        let mut phases = [0_u32; 10];
        for k in 0..n {
            let at = f64::from(k) * slot + draw.place_ns(slot, 0.0) as f64;
            phases[(at % period / period * 10.0) as usize] += 1;
        }
        let expected = f64::from(n) / 10.0;
        let chi2: f64 = phases.iter().map(|&o| (f64::from(o) - expected).powi(2) / expected).sum();
        assert!(chi2 < 33.7, "9 degrees of freedom, 1 in 10,000: {chi2} {phases:?}");
    }

    #[test]
    fn a_window_that_fills_its_slot_begins_with_it() {
        assert_eq!(Draw::new(5).place_ns(1e7, 2e7), 0);
    }
}
