//! Numbers by their place in a stream: any of them can be had alone, in any order and language.

use sojourn_base::rng::mix;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number `nth` of the stream of `seed`: `SplitMix64`, of which the state is a counter.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[inline]
pub fn at(seed: u64, nth: u64) -> u64 {
    mix(seed.wrapping_add(GAMMA.wrapping_mul(nth)))
}

/// The same as a number in [0, 1).
#[inline]
pub fn unit(seed: u64, nth: u64) -> f64 {
    (at(seed, nth) >> 11) as f64 / (1u64 << 53) as f64
}

/// The seed of one of several streams.
pub fn stream(seed: u64, nth: u64) -> u64 {
    at(seed ^ 0x51_5545_5259, nth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_splitmix64() {
        // The reference implementation's first three, for the seed 1234567.
        let wanted =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|nth| at(1_234_567, nth)), wanted);
    }

    #[test]
    fn a_unit_is_below_one_and_its_mean_is_a_half() {
        let all: Vec<f64> = (0..100_000).map(|nth| unit(7, nth)).collect();
        assert!(all.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = all.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}"); // five sigma
    }
}
