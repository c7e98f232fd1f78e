//! Where service times come from: a distribution, or a histogram that was measured.

use std::path::Path;

use hdrhistogram::Histogram;
use sojourn_base::rng::{Rng, RngExt};
use sojourn_base::span::decode;
use sojourn_base::{Fault, units};
use sojourn_workload::dist::{self, Dist};

/// A source of service times, ns.
#[derive(Debug)]
pub enum Service {
    /// A distribution, its values multiplied by a unit.
    Drawn {
        /// In units.
        dist: Dist,
        /// ns per unit.
        unit_ns: f64,
        /// Whether it is exponential, not merely as variable.
        is_exponential: bool,
    },
    /// A measured histogram.
    Measured(Measured),
}

impl Service {
    /// Reads `exponential:1` (values in `unit`), or `histogram:FILE#KEY`, a `Span` inside a result.
    pub fn parse(text: &str, unit: &str) -> Result<Self, Fault> {
        if let Some(place) = text.strip_prefix("histogram:") {
            return Measured::read(place).map(Self::Measured);
        }
        let unit_ns = units::parse_ns(&format!("1{unit}")).map_err(|_| {
            Fault::usage(format!("'{unit}' is not a unit"), "unit", "give s, ms, us or ns")
        })?;
        let dist = dist::parse(text).map_err(|fault| fault.within("service"))?;
        let is_exponential = text.trim().starts_with("exponential:");
        let service = Self::Drawn { dist, unit_ns: unit_ns as f64, is_exponential };
        if service.mean_ns() > 0.0 && service.mean_ns().is_finite() {
            return Ok(service);
        }
        let what = format!("the mean service time of {text} is {} ns", service.mean_ns());
        Err(Fault::usage(what, "service", "give a service time with a finite mean above 0"))
    }

    /// Draws one service time, ns.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Drawn { dist, unit_ns, .. } => dist.sample(rng) * unit_ns,
            Self::Measured(measured) => measured.sample(rng),
        }
    }

    /// Fills `values_ns`, the same as so many calls of [`Self::sample`].
    pub fn fill(&self, rng: &mut Rng, values_ns: &mut [f64]) {
        match self {
            Self::Drawn { dist, unit_ns, .. } => {
                dist.fill(rng, values_ns);
                for value in values_ns {
                    *value *= unit_ns;
                }
            }
            Self::Measured(measured) => {
                for value in values_ns {
                    *value = measured.sample(rng);
                }
            }
        }
    }

    /// Mean service time of one request, ns.
    pub fn mean_ns(&self) -> f64 {
        match self {
            Self::Drawn { dist, unit_ns, .. } => dist.mean() * unit_ns,
            Self::Measured(measured) => measured.mean,
        }
    }

    /// Squared coefficient of variation; infinite where there is no variance.
    pub fn scv(&self) -> f64 {
        match self {
            Self::Drawn { dist, .. } => dist.variance() / (dist.mean() * dist.mean()),
            Self::Measured(measured) => measured.variance / (measured.mean * measured.mean),
        }
    }

    /// Whether it is exponential, not merely as variable.
    pub fn is_exponential(&self) -> bool {
        matches!(self, Self::Drawn { is_exponential: true, .. })
    }
}

/// A histogram to draw from: Walker's alias method, then uniform within the bin.
#[derive(Debug)]
pub struct Measured {
    bins: Vec<Bin>,
    mean: f64,
    variance: f64,
}

#[derive(Debug)]
struct Bin {
    low: f64,
    width: f64,
    /// Probability of staying in this bin when it was picked; else `alias`.
    keep: f64,
    alias: usize,
}

impl Measured {
    /// Reads `FILE#KEY`: `hdr` of the object that stands under KEY (`wire_ns` if none is given).
    pub fn read(place: &str) -> Result<Self, Fault> {
        let (file, key) = place.split_once('#').unwrap_or((place, "wire_ns"));
        let at = format!("service histogram {file}#{key}");
        let fix =
            "give FILE#KEY, where FILE is a result in JSON and KEY a span in it, such as wire_ns";
        let text = std::fs::read_to_string(Path::new(file))
            .map_err(|e| Fault::usage(format!("cannot read {file}: {e}"), &at, fix))?;
        let json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|e| Fault::usage(format!("{file} is not JSON: {e}"), &at, fix))?;
        let hdr = json[key]["hdr"].as_str();
        let histogram = hdr
            .and_then(decode)
            .ok_or_else(|| Fault::usage(format!("{file} has no histogram {key}.hdr"), &at, fix))?;
        Self::new(&histogram).map_err(|fault| fault.within(&at))
    }

    /// From a histogram of ns.
    pub fn new(histogram: &Histogram<u64>) -> Result<Self, Fault> {
        if histogram.is_empty() {
            let fix = "give a histogram with at least one time in it";
            return Err(Fault::usage("the histogram is empty", "", fix));
        }
        let total = histogram.len() as f64;
        let (mut bins, mut weights, mut first, mut second) = (Vec::new(), Vec::new(), 0.0, 0.0);
        for bin in histogram.iter_recorded() {
            let low = histogram.lowest_equivalent(bin.value_iterated_to()) as f64;
            let width = histogram.next_non_equivalent(bin.value_iterated_to()) as f64 - low;
            let share = bin.count_at_value() as f64 / total;
            let middle = low + width / 2.0;
            first += share * middle;
            second += share * (middle * middle + width * width / 12.0);
            weights.push(share);
            bins.push(Bin { low, width, keep: 1.0, alias: bins.len() });
        }
        link_aliases(&mut bins, &weights);
        Ok(Self { bins, mean: first, variance: second - first * first })
    }

    fn sample(&self, rng: &mut Rng) -> f64 {
        let picked = rng.random::<f64>() * self.bins.len() as f64;
        let (index, rest) = (picked as usize, picked.fract());
        let bin = &self.bins[index.min(self.bins.len() - 1)];
        let bin = if rest < bin.keep { bin } else { &self.bins[bin.alias] };
        bin.low + bin.width * rng.random::<f64>()
    }
}

/// Vose's construction: every bin shares its slot with at most one other.
/// Source: Vose, A linear algorithm for generating random numbers, IEEE TSE 17(9), 1991.
fn link_aliases(bins: &mut [Bin], weights: &[f64]) {
    let n = bins.len() as f64;
    let mut scaled: Vec<f64> = weights.iter().map(|w| w * n).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..bins.len()).partition(|&i| scaled[i] < 1.0);
    while let (Some(&to), Some(&from)) = (small.last(), large.last()) {
        small.pop();
        bins[to].keep = scaled[to];
        bins[to].alias = from;
        scaled[from] -= 1.0 - scaled[to];
        if scaled[from] < 1.0 {
            large.pop();
            small.push(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_base::rng::stream;

    #[test]
    fn draws_from_a_histogram_have_its_mean_and_shape() {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        histogram.record_n(1_000, 700).unwrap();
        histogram.record_n(50_000, 300).unwrap();
        let measured = Measured::new(&histogram).unwrap();
        let mut rng = stream(3, "draws", 0);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| measured.sample(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let sigma = (measured.variance / f64::from(n)).sqrt();
        assert!((mean - measured.mean).abs() < 5.0 * sigma, "five sigma: {mean} {}", measured.mean);
        let low = draws.iter().filter(|ns| **ns < 10_000.0).count() as f64 / f64::from(n);
        assert!((low - 0.7).abs() < 5.0 * (0.21 / f64::from(n)).sqrt(), "five sigma: {low}");
    }

    #[test]
    fn an_empty_histogram_is_refused() {
        let histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        assert!(Measured::new(&histogram).unwrap_err().what.contains("empty"));
    }

    #[test]
    fn moments_of_a_distribution_carry_its_unit() {
        let service = Service::parse("uniform:10", "us").unwrap();
        assert!((service.mean_ns() - 5e3).abs() < 1e-9);
        assert!((service.scv() - 1.0 / 3.0).abs() < 1e-12);
        assert!(service.sample(&mut stream(1, "draw", 0)) <= 10e3);
        let is_exponential = |text| Service::parse(text, "us").unwrap().is_exponential();
        assert!(is_exponential("exponential:3") && is_exponential(" exponential:3"));
        assert!(!is_exponential("gamma:1,1") && !is_exponential("fixed:1"));
    }

    #[test]
    fn a_service_without_a_usable_mean_is_refused() {
        assert!(Service::parse("fixed:0", "us").unwrap_err().fix.contains("above 0"));
        assert!(Service::parse("fixed:1", "parsec").unwrap_err().fix.contains("ms"));
    }
}
