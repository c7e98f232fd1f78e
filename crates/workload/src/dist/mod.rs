//! Distributions of values: service times, gaps, key lengths, value sizes.
//!
//! Written in mutilate's notation, `name:param,param`: `fixed:200`, `exponential:1`. A bare number
//! is `fixed`. One file per kind (`facebook` holds three that belong together); `KINDS` is the
//! table. Where mutilate takes a rate (`exponential`), this takes the mean, as people think of sizes
//! and service times.

mod bimodal;
mod discrete;
pub mod exponential;
pub mod facebook;
mod fixed;
mod gamma;
mod gev;
mod lognormal;
mod normal;
mod pareto;
mod uniform;

use std::fmt::Debug;

use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind, Param};
use sojourn_base::rng::Rng;

/// A distribution of non-negative values; its unit is its user's.
pub trait Distribution: Debug + Send + Sync {
    /// One value. Pure: same `rng` state, same value.
    fn sample(&self, rng: &mut Rng) -> f64;
    /// Fills `values`, the same as so many calls of [`Self::sample`]; a loop without indirect calls.
    fn fill(&self, rng: &mut Rng, values: &mut [f64]) {
        for value in values {
            *value = self.sample(rng);
        }
    }
    /// Its mean; infinite where it has none.
    fn mean(&self) -> f64;
    /// Its variance; infinite where it has none.
    fn variance(&self) -> f64;
}

/// A boxed distribution, as `parse` builds it.
pub type Dist = Box<dyn Distribution>;

/// One entry of the table: what it says of itself, and how it is built from its numbers.
pub struct DistKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Builds it from as many numbers as `kind.params` has, already counted.
    pub build: fn(&[f64]) -> Result<Dist, Fault>,
    /// Whether its parameters may be repeated: a list.
    pub is_list: bool,
}

impl AsRef<Kind> for DistKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every distribution, in reading order.
pub const KINDS: &[DistKind] = &[
    fixed::KIND,
    uniform::KIND,
    normal::KIND,
    exponential::KIND,
    pareto::KIND,
    gev::KIND,
    lognormal::KIND,
    gamma::KIND,
    bimodal::KIND,
    discrete::KIND,
    facebook::KEY_KIND,
    facebook::VALUE_KIND,
    facebook::GAP_KIND,
];

/// What [`Param::unit`] says of a number in the unit of the values: a size, a time.
const VALUE: &str = "value";

/// Reads `name:param,param`; a bare number is `fixed`.
pub fn parse(text: &str) -> Result<Dist, Fault> {
    parse_in(text, sojourn_base::units::parse_count)
}

/// The same for times, ns: `exponential:200us`, `bimodal:10us,1ms,0.01`, `1ms`.
pub fn parse_ns(text: &str) -> Result<Dist, Fault> {
    parse_in(text, |number| sojourn_base::units::parse_ns(number).map(|ns| ns as f64))
}

/// The same for sizes, bytes: `uniform:4KiB`, `200`.
pub fn parse_bytes(text: &str) -> Result<Dist, Fault> {
    parse_in(text, |number| sojourn_base::units::parse_bytes(number).map(|bytes| bytes as f64))
}

fn parse_in(text: &str, value: fn(&str) -> Result<f64, Fault>) -> Result<Dist, Fault> {
    let (name, numbers) = text.split_once(':').unwrap_or(match value(text) {
        Ok(_) => ("fixed", text),
        Err(_) => (text, ""),
    });
    let entry = kind::find(KINDS, name, "distribution", "")?;
    let numbers = parse_numbers(numbers, entry, value)?;
    (entry.build)(&numbers)
}

fn parse_numbers(
    text: &str,
    entry: &DistKind,
    value: fn(&str) -> Result<f64, Fault>,
) -> Result<Vec<f64>, Fault> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    let params = entry.kind.params;
    let fits = if entry.is_list {
        !parts.is_empty() && parts.len().is_multiple_of(params.len())
    } else {
        parts.len() == params.len()
    };
    if !fits {
        let wanted = params.len();
        return Err(Fault::usage(
            format!("{} takes {wanted} number(s), {} given", entry.kind.name, parts.len()),
            "",
            format!("write {}", entry.kind.usage),
        ));
    }
    let unit = |i: usize| params[i % params.len()].unit;
    let read = |(i, part): (usize, &&str)| match unit(i) {
        VALUE => value(part),
        _ => sojourn_base::units::parse_count(part),
    };
    parts.iter().enumerate().map(read).collect()
}

/// A parameter in the unit of the values.
const fn value_param(name: &'static str, about: &'static str, range: &'static str) -> Param {
    Param { name, unit: VALUE, about, default: "", range }
}

/// A parameter that is a pure number.
const fn number_param(name: &'static str, about: &'static str, range: &'static str) -> Param {
    Param { name, unit: "", about, default: "", range }
}

/// `value` if it is above zero, else a fault that names the parameter.
pub(crate) fn positive(value: f64, name: &str) -> Result<f64, Fault> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Fault::usage(format!("{name} is {value}"), name, format!("give a {name} above 0")))
}

/// `value` if it is 0 or more, else a fault that names the parameter.
fn not_negative(value: f64, name: &str) -> Result<f64, Fault> {
    if value >= 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Fault::usage(format!("{name} is {value}"), name, format!("give a {name} of 0 or more")))
}

/// `value` if it is from 0 to 1, else a fault that names the parameter.
fn share(value: f64, name: &str) -> Result<f64, Fault> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(Fault::usage(format!("{name} is {value}"), name, format!("give a {name} from 0 to 1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_base::rng::stream;

    fn example(entry: &DistKind) -> Dist {
        let usage = entry.kind.usage;
        parse(usage.split_once('(').unwrap().1.trim_end_matches(')')).unwrap()
    }

    #[test]
    fn mean_and_variance_of_many_draws_are_the_closed_forms_for_every_kind() {
        for entry in KINDS {
            let dist = example(entry);
            let mut rng = stream(11, entry.kind.name, 0);
            // Fifty batches: their scatter gives the sigma of a mean without assuming a fourth moment.
            let batches: Vec<(f64, f64)> = (0..50)
                .map(|_| {
                    let draws: Vec<f64> = (0..10_000).map(|_| dist.sample(&mut rng)).collect();
                    assert!(draws.iter().all(|&x| x >= 0.0 && x.is_finite()));
                    let off = |x: &f64| (x - dist.mean()).powi(2);
                    let n = draws.len() as f64;
                    (draws.iter().sum::<f64>() / n, draws.iter().map(off).sum::<f64>() / n)
                })
                .collect();
            close(entry.kind.name, &batches.iter().map(|b| b.0).collect::<Vec<_>>(), dist.mean());
            close(
                entry.kind.name,
                &batches.iter().map(|b| b.1).collect::<Vec<_>>(),
                dist.variance(),
            );
        }
    }

    fn close(name: &str, seen: &[f64], wanted: f64) {
        let n = seen.len() as f64;
        let mean = seen.iter().sum::<f64>() / n;
        let variance = seen.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let allowed = 5.0 * (variance / n).sqrt() + 1e-9 * wanted.abs();
        assert!((mean - wanted).abs() <= allowed, "{name}: {mean}, {wanted} ± {allowed} (5 sigma)");
    }

    #[test]
    fn the_table_and_the_folder_agree() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dist");
        let files = std::fs::read_dir(here).unwrap();
        let mut files: Vec<String> = files
            .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into())
            .collect();
        files.retain(|name| name != "mod");
        files.sort();
        let mut kinds: Vec<&str> =
            KINDS.iter().map(|e| e.kind.name).filter(|name| !name.starts_with("fb_")).collect();
        kinds.push("facebook");
        kinds.sort_unstable();
        assert_eq!(files, kinds);
    }

    #[test]
    fn the_same_words_are_read_in_time_size_or_count() {
        assert_eq!(parse_ns("exponential:200us").unwrap().mean(), 200_000.0);
        assert_eq!(parse_ns("1ms").unwrap().mean(), 1e6);
        assert_eq!(parse_ns("bimodal:10us,1ms,0.5").unwrap().mean(), 505_000.0);
        assert_eq!(parse_ns("lognormal:1ms,2").unwrap().variance(), 4e12);
        assert_eq!(parse_bytes("uniform:4KiB").unwrap().mean(), 2048.0);
        assert!(parse("exponential:200us").is_err());
    }

    #[test]
    fn a_normal_value_below_zero_is_zero_and_the_closed_forms_know() {
        let dist = parse("normal:1,2").unwrap();
        // E max(0, N(1, 2²)) = Φ(½) + 2 φ(½) = 0.691462 + 2 · 0.352065
        assert!((dist.mean() - 1.395_593).abs() < 1e-5, "{}", dist.mean());
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        assert!(parse("exponental:1").unwrap_err().fix.contains("exponential"));
        assert!(parse("exponential").unwrap_err().what.contains("takes 1"));
        assert!(parse("exponential:-1").unwrap_err().fix.contains("above 0"));
        assert!(parse("discrete:1,0.5").unwrap_err().fix.contains("add to 1"));
        assert!(parse("discrete:1,0.5,2").unwrap_err().what.contains("3 given"));
        assert!(parse("gev:1,8,0.1").unwrap_err().what.contains("negative"));
        assert!((parse("200").unwrap().mean() - 200.0).abs() < 1e-12);
    }
}
