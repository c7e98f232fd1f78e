//! How much is asked: a share of the most that the antagonist can do, or a rate.

use sojourn_base::Fault;
use sojourn_base::units::{parse_bytes, parse_count};

/// What is asked of an antagonist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// Share of the most, 0 to 1.
    Share(f64),
    /// Units per second.
    Rate(f64),
}

impl Intensity {
    /// Reads `50%`, or a rate: `500MB/s` where the unit is bytes, `20k/s` elsewhere.
    pub fn parse(text: &str, is_bytes: bool) -> Result<Self, Fault> {
        let fix =
            if is_bytes { "write 0% to 100%, or 500MB/s" } else { "write 0% to 100%, or 20k/s" };
        let wrong = |what: String| Fault::usage(what, "intensity", fix);
        let trimmed = text.trim();
        if let Some(percent) = trimmed.strip_suffix('%') {
            let percent = percent
                .trim()
                .parse::<f64>()
                .map_err(|_| wrong(format!("'{text}' is not an intensity")))?;
            if !(0.0..=100.0).contains(&percent) {
                return Err(wrong(format!("the intensity is {percent} %, outside 0 % to 100 %")));
            }
            return Ok(Self::Share(percent / 100.0));
        }
        let rate = trimmed
            .strip_suffix("/s")
            .ok_or_else(|| wrong(format!("'{text}' is neither a share (%) nor a rate (/s)")))?;
        let read = if is_bytes { parse_bytes(rate).map(|n| n as f64) } else { parse_count(rate) };
        match read {
            Ok(rate) if rate >= 0.0 => Ok(Self::Rate(rate)),
            Ok(rate) => Err(wrong(format!("{rate} a second is a negative rate"))),
            Err(fault) => Err(wrong(fault.what)),
        }
    }

    /// Units per second that are asked where `most` is the most; None: nothing holds it back.
    pub fn rate(self, most: f64) -> Option<f64> {
        match self {
            Self::Share(share) if share >= 1.0 => None,
            Self::Share(share) => Some(share * most),
            Self::Rate(rate) => Some(rate),
        }
    }

    /// Share of `most` that this is; never above one, for what cannot be more.
    pub fn share(self, most: f64) -> f64 {
        match self {
            Self::Share(share) => share,
            Self::Rate(rate) if most > 0.0 => (rate / most).min(1.0),
            Self::Rate(_) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_and_a_rate_are_distinguished() {
        assert_eq!(Intensity::parse("50%", false), Ok(Intensity::Share(0.5)));
        assert_eq!(Intensity::parse("500MB/s", true), Ok(Intensity::Rate(5e8)));
        assert_eq!(Intensity::parse("20k/s", false), Ok(Intensity::Rate(2e4)));
        assert_eq!(Intensity::Share(0.25).rate(400.0), Some(100.0));
        assert_eq!(Intensity::Share(1.0).rate(400.0), None);
        assert_eq!(Intensity::Rate(7.0).rate(400.0), Some(7.0));
        assert!((Intensity::Rate(100.0).share(400.0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_intensity_says_what_would_be() {
        for text in ["150%", "-1%", "x%", "NaN%", "half", "", "20", "-3/s", "x/s"] {
            let fault = Intensity::parse(text, false).unwrap_err();
            assert_eq!((fault.exit, fault.at.as_str()), (2, "intensity"), "{text}");
            assert!(fault.fix.contains("0% to 100%"), "{text}");
        }
    }
}
