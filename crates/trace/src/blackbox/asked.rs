//! What starts a dump: a request that took too long, or a quantile over a bound.

use sojourn_base::{Fault, quantiles, units};

use super::tally::at_least;
use crate::quantile;
use crate::reconstruct::bins;

/// A quantile of so few requests above it says nothing.
const ABOVE: u64 = 5;
const FLAG: &str = "--trigger";
const FORMS: &str = "write p99.9>5ms, or give --over 5ms";

/// A quantile of the last ten seconds over a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The quantile, 0.5 to below 1.
    pub q: f64,
    /// The bound, ns.
    pub bound_ns: u64,
}

impl Tail {
    /// Reads `p99.9>5ms`.
    ///
    /// # Errors
    /// It is no such rule, or one that needs contents of requests.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let what = text.split(['>', '=', ':']).next().unwrap_or_default().trim();
        if ["path", "traceparent", "header", "url", "method"].contains(&what) {
            return Err(unseen(what));
        }
        let wrong = |what: String| Fault::usage(what, FLAG, FORMS);
        let Some((left, right)) = text.split_once('>') else {
            return Err(wrong(format!("'{text}' is no rule to start a dump by")));
        };
        let q = quantile::read(left.trim()).filter(|q| (0.5..1.0).contains(q));
        let q = q.ok_or_else(|| {
            wrong(format!("'{}' is not a quantile from p50 to below p100", left.trim()))
        })?;
        Ok(Self { q, bound_ns: bound(right.trim(), FLAG)? })
    }

    /// The quantile's value where it is over the bound; `None`: it is not, or has too few requests above it.
    pub fn broken_by(self, totals: &[u64]) -> Option<u64> {
        let value_ns = bins::TOTAL.quantile(totals, 0, self.q)?;
        let is_over = value_ns > self.bound_ns && at_least(totals, self.bound_ns) >= ABOVE;
        is_over.then_some(value_ns)
    }

    /// As it is written: `p99.9>5 ms`.
    pub fn words(self) -> String {
        format!("{} > {}", quantiles::name_of(self.q), units::show_ns(self.bound_ns as f64))
    }
}

/// A time that a request may take: 1 µs to 60 s, with its unit, because a bound of `5` is hardly 5 s.
///
/// # Errors
/// It is none.
pub fn bound(text: &str, flag: &str) -> Result<u64, Fault> {
    if text.trim_end().ends_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
        let what = format!("'{text}' has no unit");
        return Err(Fault::usage(what, flag, "give a time such as 5ms"));
    }
    let ns = units::parse_ns(text).map_err(|fault| fault.within(flag))?;
    if (1_000..=60 * units::NS_PER_S).contains(&ns) {
        return Ok(ns);
    }
    let what = format!("'{text}' is not a time that a request may take");
    Err(Fault::usage(what, flag, "give 1us to 60s"))
}

/// Contents of requests are not seen.
fn unseen(what: &str) -> Fault {
    Fault::usage(
        format!(
            "a dump cannot be started by {what}, because the hooks see times of sockets and no contents of requests"
        ),
        FLAG,
        "give --over 5ms or --trigger 'p99.9>5ms'; the dump has the client's port of each slow request",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_and_nonsense_is_refused_with_the_reason() {
        assert_eq!(Tail::read("p99.9 > 5ms"), Ok(Tail { q: 0.999, bound_ns: 5_000_000 }));
        assert_eq!(Tail::read("p50>1s").unwrap().words(), "p50 > 1 s");
        for wrong in
            ["", "5ms", "p99", "p100>1ms", "p99>0", "p99>2h", "p99>5", "p99>x", "p10>1ms", ">1ms"]
        {
            let fault = Tail::read(wrong).unwrap_err();
            assert_eq!((fault.at.as_str(), fault.exit), (FLAG, 2), "{wrong}");
        }
        for content in ["path=/cart", "traceparent=00-ab", "path>1ms"] {
            let fault = Tail::read(content).unwrap_err();
            assert!(fault.what.contains("no contents of requests"), "{fault}");
        }
    }

    #[test]
    fn a_bound_needs_a_unit() {
        assert_eq!(bound("5ms", "--over"), Ok(5_000_000));
        for bare in ["5", "0.005", "5 "] {
            let fault = bound(bare, "--over").unwrap_err();
            assert!(fault.at == "--over" && fault.what.contains("has no unit"), "{fault}");
        }
    }

    #[test]
    fn a_quantile_over_its_bound_needs_requests_above_it() {
        let rule = Tail { q: 0.999, bound_ns: 5_000_000 };
        let mut totals = vec![0; bins::TOTAL.count()];
        totals[bins::TOTAL.of(100_000)] = 1_000;
        assert_eq!(rule.broken_by(&totals), None);
        totals[bins::TOTAL.of(9_000_000)] = 4;
        assert_eq!(rule.broken_by(&totals), None, "four requests are no tail");
        totals[bins::TOTAL.of(9_000_000)] = 5;
        assert!(rule.broken_by(&totals).is_some_and(|ns| (8_900_000..9_100_000).contains(&ns)));
        totals[bins::TOTAL.of(100_000)] = 100_000;
        assert_eq!(rule.broken_by(&totals), None, "p99.9 is below it");
        assert_eq!(rule.broken_by(&[]), None);
    }
}
