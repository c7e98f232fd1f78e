//! How many requests are traced: the price is a choice.

use sojourn_base::{Fault, rng};

/// Cost that is accepted where none is asked for.
pub const COST: f64 = 0.02;
/// What was measured: docs/journal/2026-11-22-trace.md and 2026-11-24-cheaper-hooks.md.
const ALL_NOTICED: &str = "every request pays for hooks, and users notice: memcached's p99 at half load was ×1.8, with \
                           records ×2.6. Leave out --all and --records if users must not notice";
const SAMPLE_NOTICED: &str = "hooks of a sample stay all the time, for every flow, and users notice: a saturated memcached \
                              took ×1.10 of the CPU. Leave out --sample if users must not notice";
const COSTS: std::ops::RangeInclusive<f64> = 0.001..=0.5;

/// Which of the server's requests are traced, and so at what price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum How {
    /// All that arrive in random windows; nothing is attached between them.
    Windows {
        /// Share of the service's CPU time that tracing may take.
        cost: f64,
        /// Of the windows' places and lengths.
        seed: u64,
    },
    /// Those of one flow in so many, other ones all the time.
    Sample {
        /// 64 means 1/64.
        one_in: u32,
        /// Of the flows.
        seed: u64,
    },
    /// Every request.
    #[default]
    All,
}

impl How {
    /// From what was asked for; `None` is what was not. Records mean all, unless something else was asked for.
    ///
    /// # Errors
    /// A share or a fraction that is none.
    pub fn read(
        cost: Option<&str>,
        sample: Option<&str>,
        wants_all: bool,
        seed: Option<u64>,
    ) -> Result<Self, Fault> {
        let seed = seed.unwrap_or_else(rng::fresh_seed);
        match (cost, sample) {
            (_, Some(text)) => Ok(Self::Sample { one_in: one_in(text)?, seed }),
            (Some(text), _) => Ok(Self::Windows { cost: share(text)?, seed }),
            _ if wants_all => Ok(Self::All),
            _ => Ok(Self::Windows { cost: COST, seed }),
        }
    }

    /// That the service's users notice it: what cannot keep the tail says so before it begins, and in its result.
    pub fn tail_warning(self) -> Option<&'static str> {
        match self {
            Self::Windows { cost, .. } if cost <= COST => None,
            Self::Windows { .. } => Some(
                "at a --cost above 2 % users may notice: how much longer their mean, p99 and p99.9 were is \
                 estimated at the end",
            ),
            Self::Sample { .. } => Some(SAMPLE_NOTICED),
            Self::All => Some(ALL_NOTICED),
        }
    }

    /// As it is in the result.
    pub fn word(self, is_full: bool) -> &'static str {
        match self {
            Self::Windows { .. } => "windows",
            Self::Sample { .. } => "sample",
            Self::All if is_full => "records",
            Self::All => "aggregate",
        }
    }
}

/// `2%` or `0.02`.
fn share(text: &str) -> Result<f64, Fault> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if COSTS.contains(&(value * unit)) => Ok(value * unit),
        _ => Err(Fault::usage(
            format!("'{text}' is not a cost to trace at"),
            "--cost",
            "give 0.1% to 50%, or --all",
        )),
    }
}

/// `1/64`.
fn one_in(text: &str) -> Result<u32, Fault> {
    match text.split_once('/').map(|(one, n)| (one.trim(), n.trim().parse::<u32>())) {
        Some(("1", Ok(n @ 2..=65536))) => Ok(n),
        _ => Err(Fault::usage(
            format!("'{text}' is not a sample of flows"),
            "--sample",
            "give 1/2 to 1/65536: 1/64 traces one flow in 64",
        )),
    }
}

/// What is asked for: how long, and how much of each request.
#[expect(clippy::struct_excessive_bools, reason = "what is asked for, each by itself")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Length, ns.
    pub duration_ns: u64,
    /// Which requests.
    pub how: How,
    /// Size of the ring, bytes.
    pub ring_bytes: u32,
    /// A record of every request that is traced.
    pub is_full: bool,
    /// Slowest requests to keep.
    pub worst: usize,
    /// Let the kernel measure the hooks.
    pub hook_cost: bool,
    /// Name who made the requests from this quantile on slow.
    pub blame: Option<f64>,
    /// Of a sample too, distinguish every stage: with hooks on system calls.
    pub all_stages: bool,
    /// Windows come as often as the cost allows, because somebody acts on each.
    pub is_live: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cost: Option<&str>, sample: Option<&str>, wants_all: bool) -> Result<How, String> {
        How::read(cost, sample, wants_all, Some(7)).map_err(|fault| fault.at)
    }

    #[test]
    fn two_per_cent_is_what_is_taken_where_nothing_is_reported() {
        assert_eq!(read(None, None, false), Ok(How::Windows { cost: COST, seed: 7 }));
        assert_eq!(read(None, None, true), Ok(How::All), "records want all");
        assert_eq!(read(Some("5 %"), None, true), Ok(How::Windows { cost: 0.05, seed: 7 }));
        assert_eq!(read(Some("0.5"), None, false), Ok(How::Windows { cost: 0.5, seed: 7 }));
        assert_eq!(read(None, Some("1/64"), true), Ok(How::Sample { one_in: 64, seed: 7 }));
    }

    #[test]
    fn ways_that_users_notice_say_so_and_what_would_not_be_noticed() {
        let seed = 1;
        assert_eq!(
            How::Windows { cost: COST, seed }.tail_warning(),
            None,
            "the default is estimated at the end"
        );
        for (how, flag) in [
            (How::All, "--all"),
            (How::Sample { one_in: 64, seed }, "--sample"),
            (How::Windows { cost: 0.03, seed }, "--cost"),
        ] {
            let warning = how.tail_warning().unwrap();
            assert!(warning.contains("users") && warning.contains(flag), "{warning}");
            assert!(
                !warning.contains("tracing "),
                "whoever waits for the begin looks for that word: {warning}"
            );
        }
    }

    #[test]
    fn what_is_no_share_is_refused_with_its_flag() {
        for text in ["", "%", "0", "0.01%", "51%", "2", "-2%", "nan", "inf%"] {
            assert_eq!(read(Some(text), None, false), Err("--cost".into()), "{text}");
        }
        for text in ["", "64", "1/1", "2/64", "1/0", "1/65537", "1/x"] {
            assert_eq!(read(None, Some(text), false), Err("--sample".into()), "{text}");
        }
    }
}
