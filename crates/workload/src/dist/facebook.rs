//! Key sizes, value sizes and gaps of Facebook's memcached pool ETC, with mutilate's parameters.
//!
//! Sources: Atikoglu, Xu, Frachtenberg, Jiang, Paleczny, "Workload Analysis of a Large-Scale
//! Key-Value Store", SIGMETRICS 2012, section 5 (where ETC's fits are given); mutilate,
//! Generator.cc at 46015b29, which holds the same numbers. Key and value sizes are in bytes. The
//! gaps' own mean is 18.97 (µs in the paper): users scale it to their rate.

use super::gev::Gev;
use super::pareto::Pareto;
use super::{Dist, DistKind, Distribution};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, RngExt};

/// Shares of the value sizes 0, 1, …, 14 bytes; larger ones follow [`LARGE`].
const SMALL: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
];
const LARGE: Pareto = Pareto { loc: 15.0, scale: 214.476, shape: 0.348_238 };
const KEY: Gev = Gev { loc: 30.7984, scale: 8.20449, shape: 0.078_688 };
/// Shape and scale of the gaps, for arrival processes too.
pub const GAP_SCALE: f64 = 16.0292;
/// Shape of the gaps' distribution, without a unit; see [`GAP_SCALE`].
pub const GAP_SHAPE: f64 = 0.154_971;

#[derive(Debug)]
struct ValueSize;

impl ValueSize {
    /// Share of the small sizes, and their first and second moments (not divided by the share).
    fn small() -> (f64, f64, f64) {
        SMALL.iter().enumerate().fold((0.0, 0.0, 0.0), |(all, first, second), (size, share)| {
            let size = size as f64;
            (all + share, first + share * size, second + share * size * size)
        })
    }
}

impl Distribution for ValueSize {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let mut u = rng.random::<f64>();
        for (size, share) in SMALL.iter().enumerate() {
            if u < *share {
                return size as f64;
            }
            u -= share;
        }
        LARGE.sample(rng)
    }
    fn mean(&self) -> f64 {
        let (share, first, _) = Self::small();
        first + (1.0 - share) * LARGE.mean()
    }
    fn variance(&self) -> f64 {
        let (share, _, second) = Self::small();
        let large = LARGE.variance() + LARGE.mean().powi(2);
        second + (1.0 - share) * large - self.mean().powi(2)
    }
}

pub(super) const KEY_KIND: DistKind =
    kind("fb_key", "key sizes of Facebook's ETC pool", |_| Ok(Box::new(KEY)));
pub(super) const VALUE_KIND: DistKind =
    kind("fb_value", "value sizes of Facebook's ETC pool", |_| Ok(Box::new(ValueSize)));
pub(super) const GAP_KIND: DistKind =
    kind("fb_ia", "gaps between requests to Facebook's ETC pool", |_| {
        Ok(Box::new(Pareto { loc: 0.0, scale: GAP_SCALE, shape: GAP_SHAPE }))
    });

const fn kind(
    name: &'static str,
    about: &'static str,
    build: fn(&[f64]) -> Result<Dist, Fault>,
) -> DistKind {
    let source = "Atikoglu et al., SIGMETRICS 2012; mutilate's Generator.cc";
    let usage = match name.as_bytes()[3] {
        b'k' => "fb_key (fb_key)",
        b'v' => "fb_value (fb_value)",
        _ => "fb_ia (fb_ia)",
    };
    DistKind {
        kind: Kind { name, about, usage, params: &[], needs: &[], source },
        build,
        is_list: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_of_the_papers_fits() {
        assert!((KEY.mean() - 36.3).abs() < 0.5, "keys of some 36 bytes: {}", KEY.mean());
        let gap = GAP_SCALE / (1.0 - GAP_SHAPE);
        assert!((gap - 18.97).abs() < 0.01, "{gap}");
        // By hand: shares of small sizes 0.44155, their first moment 2.29836; large ones
        // 15 + 214.476/(1 − 0.348238) = 344.0711.
        let (share, first, _) = ValueSize::small();
        assert!((share - 0.441_55).abs() < 1e-9 && (first - 2.298_36).abs() < 1e-9);
        assert!((ValueSize.mean() - (2.298_36 + 0.558_45 * 344.0711)).abs() < 1e-3);
    }
}
