//! Which statuses are a success: 200 to 299, or those that the job expects.

use std::ops::RangeInclusive;

use sojourn_base::Fault;

/// Statuses without a body, whatever they answer. Source: RFC 9112, 6.3.
const BODILESS: [u16; 2] = [204, 304];

/// A set of statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::protocols) struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Reads `200`, `200,404` or `200-299,304`; empty: 200 to 299.
    pub(in crate::protocols) fn parse(text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Ok(Self(vec![200..=299]));
        }
        let one = |text: &str| text.trim().parse().ok().filter(|it| (200..=599).contains(it));
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            Some(one(from)?..=one(to)?).filter(|range| !range.is_empty())
        };
        text.split(',').map(range).collect::<Option<_>>().map(Self).ok_or_else(|| {
            let fix = "write statuses from 200 to 599, such as 200, 200,404 or 200-299";
            Fault::usage(format!("'{text}' names no statuses"), "expect_status", fix)
        })
    }

    #[inline]
    pub(in crate::protocols) fn hold(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// Whether every one of them comes without a body.
    pub(super) fn are_bodiless(&self) -> bool {
        self.0.iter().cloned().flatten().all(|status| BODILESS.contains(&status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_and_ranges() {
        let of = |text| Statuses::parse(text).unwrap();
        let held = |text| (200..600).filter(|&it| of(text).hold(it)).collect::<Vec<u16>>();
        assert_eq!(held(""), (200..300).collect::<Vec<_>>());
        assert_eq!(held("204, 404,500-502"), [204, 404, 500, 501, 502]);
        for text in ["x", "99", "600", "300-200", "200,", "-"] {
            assert_eq!(Statuses::parse(text).unwrap_err().at, "expect_status", "{text}");
        }
        assert!(of("204,304").are_bodiless() && !of("").are_bodiless());
    }
}
