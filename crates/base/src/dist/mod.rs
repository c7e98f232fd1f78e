//! Distributions of values: service times, gaps, key lengths, value sizes.
//!
//! Written in mutilate's notation, `name:param,param`: `fixed:200`, `exponential:1`. A bare number
//! is `fixed`. One file per kind; `KINDS` is the table.

mod exponential;
mod fixed;

use std::fmt::Debug;

use crate::Fault;
use crate::kind::{Kind, near};
use crate::rng::Rng;

/// A distribution of non-negative values; its unit is its user's.
pub trait Distribution: Debug + Send + Sync {
    /// One value. Pure: same `rng` state, same value.
    fn sample(&self, rng: &mut Rng) -> f64;
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
}

/// Every distribution, in reading order.
pub const KINDS: &[DistKind] = &[fixed::KIND, exponential::KIND];

/// Reads `name:param,param`; a bare number is `fixed`.
pub fn parse(text: &str) -> Result<Dist, Fault> {
    let (name, numbers) = text.split_once(':').unwrap_or(match text.trim().parse::<f64>() {
        Ok(_) => ("fixed", text),
        Err(_) => (text, ""),
    });
    let Some(entry) = KINDS.iter().find(|entry| entry.kind.name == name.trim()) else {
        return Err(unknown(name));
    };
    let numbers = parse_numbers(numbers, entry)?;
    (entry.build)(&numbers)
}

fn parse_numbers(text: &str, entry: &DistKind) -> Result<Vec<f64>, Fault> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    let wanted = entry.kind.params.len();
    if parts.len() != wanted {
        return Err(Fault::usage(
            format!("{} takes {wanted} number(s), {} given", entry.kind.name, parts.len()),
            "",
            format!("write {}", entry.kind.usage),
        ));
    }
    parts.iter().map(|part| crate::units::parse_count(part)).collect()
}

fn unknown(name: &str) -> Fault {
    let names: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
    let hint = near(name, names.iter().copied())
        .first()
        .map_or(String::new(), |n| format!("did you mean {n}? "));
    Fault::usage(
        format!("no distribution is called '{name}'"),
        "",
        format!("{hint}known: {}", names.join(", ")),
    )
}

/// `value` if it is above zero, else a fault that names the parameter.
pub(crate) fn positive(value: f64, name: &str) -> Result<f64, Fault> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Fault::usage(format!("{name} is {value}"), name, format!("give a {name} above 0")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn mean_of_many_draws_is_the_mean_for_every_kind() {
        for entry in KINDS {
            let example = entry.kind.usage.split_once('(').unwrap().1.trim_end_matches(')');
            let dist = parse(example).unwrap();
            if !dist.variance().is_finite() {
                continue;
            }
            let mut rng = stream(11, entry.kind.name, 0);
            let n = 200_000;
            let mean = (0..n).map(|_| dist.sample(&mut rng)).sum::<f64>() / f64::from(n);
            let sigma = (dist.variance() / f64::from(n)).sqrt();
            let off = (mean - dist.mean()).abs();
            assert!(off <= 5.0 * sigma + 1e-9 * mean.abs(), "{example}: five sigma, off by {off}");
        }
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        assert!(parse("exponental:1").unwrap_err().fix.contains("exponential"));
        assert!(parse("exponential").unwrap_err().what.contains("takes 1"));
        assert!(parse("exponential:-1").unwrap_err().fix.contains("above 0"));
        assert!((parse("200").unwrap().mean() - 200.0).abs() < 1e-12);
    }
}
