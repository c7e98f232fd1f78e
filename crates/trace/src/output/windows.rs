//! Windows as lines of JSON, one as soon as each is over: what `sojourn manage` decides by.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use sojourn_base::quantiles::ranks;
use sojourn_base::{Fault, units};

use crate::reconstruct::bins;

const Q: f64 = 0.99;

/// The requests of one window, as the generator's lines of progress have them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Length of the window.
    pub length_ms: u64,
    /// Requests in it.
    pub n: u64,
    /// Their 99th percentile, ns; none without requests.
    pub p99_ns: Option<u64>,
    /// Lower end of its 95 % interval, ns; none: too few requests.
    pub lo_ns: Option<u64>,
    /// Upper end, ns; none: too few requests.
    pub hi_ns: Option<u64>,
    /// Requests above the bound; none: no bound was given.
    pub above: Option<u64>,
}

/// A window of requests by bin of [`bins::TOTAL`], which is 0.8 % wide: a request that took at most so much
/// longer than the bound is not counted as above it.
pub fn line(length_ns: u64, totals: &[u64], bound_ns: Option<u64>) -> Line {
    let n: u64 = totals.iter().sum();
    let (lo, hi) = ranks(n, Q);
    let bin_at = |rank: f64| (rank >= 1.0 && rank <= n as f64).then(|| bin_of(totals, rank as u64));
    Line {
        length_ms: (length_ns + 500_000).div_euclid(1_000_000).max(1),
        n,
        p99_ns: bins::TOTAL.quantile(totals, 0, Q),
        lo_ns: bin_at(lo).map(|bin| bins::TOTAL.low(bin)),
        hi_ns: bin_at(hi).map(|bin| bins::TOTAL.low(bin + 1)),
        above: bound_ns.map(|ns| totals[bins::TOTAL.of(ns) + 1..].iter().sum()),
    }
}

/// The bin of the value of a rank, from 1.
fn bin_of(totals: &[u64], rank: u64) -> usize {
    let mut below = 0;
    let reaches = |n: &u64| {
        below += n;
        below >= rank
    };
    totals.iter().position(reaches).unwrap_or(totals.len() - 1)
}

/// What prints them; nothing if they are not wanted. `bound` and `json` are the options of that name.
/// A fault where whoever reads them has gone.
pub fn printer<'a>(
    is_wanted: bool,
    bound: Option<&str>,
    json: Option<&Path>,
    out: &'a mut dyn Write,
) -> Result<impl FnMut(u64, &[u64]) -> Result<(), Fault> + use<'a>, Fault> {
    let bound = bound.map(units::parse_ns).transpose();
    let bound_ns = bound.map_err(|fault| fault.within("--bound"))?;
    if is_wanted && json == Some(Path::new("-")) {
        let what = "windows and the result are both to go to standard output";
        return Err(Fault::usage(what, "--windows", "name a file for --json"));
    }
    Ok(move |length_ns, totals: &[u64]| {
        if !is_wanted {
            return Ok(());
        }
        let text = serde_json::to_string(&line(length_ns, totals, bound_ns)).expect("plain data");
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| {
            Fault::failed(
                format!("cannot write a window: {error}"),
                "standard output",
                "has the program that reads it ended?",
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(times_ns: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut totals = vec![0; bins::TOTAL.count()];
        times_ns.into_iter().for_each(|ns| totals[bins::TOTAL.of(ns)] += 1);
        totals
    }

    #[test]
    fn a_window_has_its_requests_p99_interval_and_late_ones() {
        let one = line(99_600_000, &totals((1..=1000).map(|us| us * 1000)), Some(900_000));
        assert_eq!((one.length_ms, one.n), (100, 1000));
        let near =
            |ns: Option<u64>, us: f64| (ns.unwrap() as f64 / 1000.0 / us - 1.0).abs() < 0.009;
        // Ranks of n = 1000, q = 0.99: 983 and 998, as in the generator's windows; a bin is 0.8 % wide.
        assert!(near(one.p99_ns, 990.0) && near(one.lo_ns, 983.0) && near(one.hi_ns, 998.0));
        assert!(
            one.lo_ns < Some(983_001) && one.hi_ns > Some(997_999),
            "the ends are rounded outwards"
        );
        assert!((93..=100).contains(&one.above.unwrap()), "{one:?}");
    }

    #[test]
    fn what_is_not_known_is_none_and_never_zero() {
        let none = line(1, &totals([]), None);
        assert_eq!((none.length_ms, none.n, none.p99_ns, none.above), (1, 0, None, None));
        let few = line(1_000_000, &totals([5000; 100]), Some(1));
        assert_eq!((few.n, few.hi_ns, few.above), (100, None, Some(100)));
        assert_eq!(
            line(1, &totals([u64::MAX]), Some(u64::MAX)).above,
            Some(0),
            "the last bin has no end"
        );
    }

    #[test]
    fn lines_end_the_trace_where_no_one_reads_them() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (mut text, none) = (Vec::new(), totals([]));
        printer(true, None, None, &mut text).unwrap()(1_000_000, &none).unwrap();
        assert!(text.starts_with(b"{\"length_ms\":1,\"n\":0,") && text.ends_with(b"}\n"));
        assert!(printer(true, None, None, &mut Gone).unwrap()(1, &none).is_err());
        printer(false, None, None, &mut Gone).unwrap()(1, &none).unwrap();
        assert!(printer(true, None, Some(Path::new("-")), &mut Gone).is_err());
        assert!(printer(true, Some("x"), None, &mut Gone).is_err());
    }
}
