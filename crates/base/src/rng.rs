//! Random numbers: one recorded seed, one independent stream for every use.
//!
//! Xoshiro256++ because it is fast, well tested and the same on every platform; `rand`'s own
//! `StdRng` may change between releases, and then an old seed would mean another schedule.

use rand::SeedableRng;
pub use rand::{Rng as RandRng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator every tool uses.
pub type Rng = Xoshiro256PlusPlus;

/// A stream of its own for `use_name` and `index` (a thread, a connection), from one seed.
///
/// Streams are independent in that each starts from a different `SplitMix64`-mixed state.
pub fn stream(seed: u64, use_name: &str, index: u64) -> Rng {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    for byte in use_name.bytes() {
        state = mix(state ^ u64::from(byte));
    }
    Rng::seed_from_u64(mix(state ^ index))
}

/// `SplitMix64`'s finaliser. Source: Steele, Lea, Flood, OOPSLA 2014.
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A seed for a run that was given none; it is recorded in the result.
pub fn fresh_seed() -> u64 {
    mix(crate::clock::unix_ns() ^ (u64::from(std::process::id()) << 40)) >> 11 // 53 bits: exact in JSON
}

/// Uniform in (0, 1]: safe under `ln()`.
#[inline]
pub fn open_unit(rng: &mut Rng) -> f64 {
    1.0 - rng.random::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_use_and_index_and_repeat_by_seed() {
        let first = |seed, name, index| stream(seed, name, index).random::<u64>();
        assert_eq!(first(1, "gaps", 0), first(1, "gaps", 0));
        assert_ne!(first(1, "gaps", 0), first(1, "gaps", 1));
        assert_ne!(first(1, "gaps", 0), first(1, "keys", 0));
        assert_ne!(first(1, "gaps", 0), first(2, "gaps", 0));
    }

    #[test]
    fn open_unit_is_never_zero_and_its_mean_is_a_half() {
        let mut rng = stream(7, "test", 0);
        let draws: Vec<f64> = (0..100_000).map(|_| open_unit(&mut rng)).collect();
        assert!(draws.iter().all(|&u| u > 0.0 && u <= 1.0));
        let mean = draws.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 5.0 * 0.289 / 1e5_f64.sqrt(), "five sigma: {mean}");
    }
}
