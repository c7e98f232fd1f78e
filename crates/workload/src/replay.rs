//! Logs that are replayed: when each request came, and what it asked for.
//!
//! Read are a column of times, in s, ms, µs or ns since 1970 or since anything, or of dates; and logs of
//! requests: access logs in the common or combined format, lines of JSON, CSV with a head, HAR, and vegeta's
//! targets, which have no times. Lines without a request (`"-"`, noise on a TLS port) are left out, here and
//! wherever its paths are read, and the rest is brought into the order of time: servers write a line when its
//! request is over.
//!
//! A log of whole seconds, or of any other unit, says that a request came within that unit and not when.
//! Where two of its times are the same, each is drawn anew, evenly within its unit, in the order of the
//! log and the same in every run: so a Poisson process lies within a second of which only the count is
//! known. To leave them at its beginning would make a burst of every second.

use std::borrow::Cow;

use sojourn_base::Fault;
use sojourn_base::rng::{RngExt as _, stream};

mod access_log;
mod csv;
mod date;
mod har;
mod json_lines;
mod numbers;
mod quoted;
mod targets;
mod url;

pub use numbers::Numbers;

/// Largest time that is meant in s, in ms and in µs: 5138-11-16 in each of them.
const UNITS: [(f64, f64); 3] = [(1e11, 1e9), (1e14, 1e6), (1e17, 1e3)];
/// No time is further from 1970, ns: 1824 to 2115. So neither a unit added to one nor a difference overflows.
const FAR_NS: i64 = 4_600_000_000_000_000_000;
/// Smallest number that is a time since 1970 where the file does not say what its numbers are: 1973.
const EPOCH_MIN: f64 = 1e8;
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];

/// One request of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// When it came, ns since 1970; 0 in a log without times.
    pub at_ns: i64,
    /// One of HTTP's; `None`: the log does not say.
    pub method: Option<&'static str>,
    /// What it asked for; begins with a slash. Escapes of the log are undone, and what no path may hold is `%XX`.
    pub path: Cow<'a, str>,
}

/// A log of requests: what was asked for, and how much of it could not be read.
#[derive(Debug, Default)]
pub struct Access<'a> {
    /// Its requests in the order of time.
    pub entries: Vec<Entry<'a>>,
    /// Whether the log says when they came.
    pub has_times: bool,
    /// Lines that have none.
    pub left_out: usize,
    /// Requests of other methods than the one that is replayed.
    pub other_methods: usize,
    /// Requests with cookies or an authorisation in the log; neither is ever sent.
    pub with_secrets: usize,
}

impl Access<'_> {
    /// Leaves out requests of other methods; one whose method the log does not say stays.
    pub fn keep_method(&mut self, method: &str) {
        let all = self.entries.len();
        self.entries.retain(|entry| entry.method.is_none_or(|its| its == method));
        self.other_methods += all - self.entries.len();
    }

    /// What a reader of the result must know of it; `None`: nothing was left out.
    pub fn note(&self) -> Option<String> {
        let counts = [
            (self.left_out, "lines of the log have no request and were left out"),
            (self.other_methods, "requests of the log have other methods and were left out"),
            (
                self.with_secrets,
                "requests of the log have cookies or an authorisation, and neither is sent",
            ),
        ];
        let some: Vec<_> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!some.is_empty()).then(|| some.join("; "))
    }
}

/// `text` without the mark that some editors begin a file with.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Lines that say something, and their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines = unmarked(text).lines().zip(1..).map(|(line, number)| (line.trim(), number));
    lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
}

/// The log of requests that `text` is; `None`: it is of none of the known formats. Faults name the line.
pub fn access(text: &str) -> Option<Result<Access<'_>, Fault>> {
    let text = unmarked(text);
    let (first, _) = lines(text).next()?;
    let log = if first.starts_with('{') {
        if har::is_it(text) { har::read(text) } else { json_lines::read(text) }
    } else if access_log::is_it(first) {
        access_log::read(text)
    } else if targets::is_it(first) {
        targets::read(text)
    } else {
        csv::read(text, &csv::columns(first)?)
    };
    Some(log.map(|mut log| {
        log.entries.sort_by_key(|entry| entry.at_ns); // stable: equal times keep the log's order
        log
    }))
}

/// The method of this name.
fn method(name: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|method| method.eq_ignore_ascii_case(name))
}

/// What is wrong with a line of a log.
fn wrong(what: &str, line: usize, fix: &str) -> Fault {
    Fault::usage(what, format!("line {line}"), fix)
}

/// The time that a line begins with, ns: a number, whose size says its unit, or a date.
pub fn time(line: &str) -> Option<i64> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let date =
        || date::of_iso(first).or_else(|| date::of_iso(&format!("{first}T{}", words.next()?)));
    number(first).or_else(date).filter(|ns| is_near(*ns))
}

fn is_near(ns: i64) -> bool {
    (-FAR_NS..=FAR_NS).contains(&ns)
}

/// Whether a file may begin with such a line and not say what its numbers are.
pub fn is_self_evident(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_epoch = first.parse::<f64>().is_ok_and(|number| number >= EPOCH_MIN);
    is_epoch || (first.parse::<f64>().is_err() && time(line).is_some())
}

/// A number of s, ms, µs or ns as ns; digits are not rounded.
fn number(text: &str) -> Option<i64> {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)?;
    let ns = UNITS.iter().find(|(most, _)| value < *most).map_or(1.0, |(_, ns)| *ns) as i64;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain(whole) || !is_plain(part) || part.len() > 18 {
        return Some((value * ns as f64) as i64); // 1e3
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let scale = 10_i128.pow(part.len() as u32);
    let part: i128 = if part.is_empty() { 0 } else { part.parse().ok()? };
    whole.checked_mul(ns)?.checked_add((part * i128::from(ns) / scale) as i64)
}

/// Draws times anew within their unit where it is too coarse for them; the unit, ns, if so.
pub fn spread(stamps_ns: &mut [i64]) -> Option<i64> {
    let unit_ns = unit(stamps_ns)?;
    let mut from = 0;
    while from < stamps_ns.len() {
        let at_ns = stamps_ns[from];
        let count = stamps_ns[from..].iter().take_while(|&&ns| ns == at_ns).count();
        let mut rng = stream(at_ns as u64, "replay", count as u64);
        let group = &mut stamps_ns[from..from + count];
        for ns in group.iter_mut() {
            *ns = at_ns.saturating_add(rng.random_range(0..unit_ns));
        }
        group.sort_unstable();
        from += count;
    }
    Some(unit_ns)
}

/// The power of ten, ns, of which all times are multiples, 1 s at most; `None` where no two are the same.
fn unit(stamps_ns: &[i64]) -> Option<i64> {
    if stamps_ns.windows(2).all(|pair| pair[0] != pair[1]) {
        return None;
    }
    let units = (1..=9).rev().map(|digits| 10_i64.pow(digits));
    units.into_iter().find(|unit| stamps_ns.iter().all(|ns| ns % unit == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMBINED: &str = r#"10.0.0.1 - - [28/May/2024:12:00:01 +0200] "GET /b?c=d HTTP/1.1" 200 5 "-" "x [y]"
10.0.0.1 - me [28/May/2024:12:00:00 +0200] "POST /a HTTP/2.0" 201 5
10.0.0.2 - - [28/May/2024:12:00:01 +0200] "-" 408 0 "-" "-"
10.0.0.2 - - [28/May/2024:12:00:01 +0200] "\x16\x03\x01" 400 0
h - - [28/May/2024:12:00:02 +0200] "GET http://other/c HTTP/1.1" 200 5
"#;

    #[test]
    fn an_access_log_is_its_requests_in_the_order_of_time() {
        let text = format!("\u{feff}# from nginx\r\n{}", COMBINED.replace('\n', "\r\n"));
        let log = access(&text).unwrap().unwrap();
        let noon = 1_716_890_400_000_000_000; // 2024-05-28T10:00:00Z, `date -d … +%s`
        let result: Vec<_> = log.entries.iter().map(|it| (it.at_ns - noon, &*it.path)).collect();
        assert_eq!(result, [(0, "/a"), (1_000_000_000, "/b?c=d"), (2_000_000_000, "/c")]);
        assert_eq!(log.left_out, 2);
        let torn = format!("{COMBINED}nothing\n");
        assert_eq!(access(&torn).unwrap().unwrap_err().at, "line 6");
        for other in ["timestamp_s\n1\n", "/a\n/b\n", "1.5 /a[1]\n", ""] {
            assert!(access(other).is_none(), "{other}");
        }
    }

    #[test]
    fn times_are_numbers_of_any_unit_or_dates() {
        let at = 1_716_890_400_123_000_000;
        for line in [
            "1716890400.123 /a",
            "1716890400123",
            "1716890400123000 /a",
            "1716890400123000000",
            "2024-05-28T10:00:00.123Z",
            "2024-05-28T12:00:00,123+02:00 /a",
            "2024-05-28 10:00:00.123 /a",
            "2024-05-28T05:00:00.123-0500",
        ] {
            assert_eq!(time(line), Some(at), "{line}");
            assert!(is_self_evident(line), "{line}");
        }
        assert_eq!(
            (time("12.000018 /x"), time("0"), time(".5")),
            (Some(12_000_018_000), Some(0), Some(500_000_000))
        );
        assert!(!is_self_evident("12.5"), "of what, it must say");
        for line in ["x", "-1", "NaN", "2024-13-28T10:00:00Z", "2024-05-28", ""] {
            assert_eq!(time(line), None, "{line}");
        }
    }

    #[test]
    fn times_so_far_apart_that_their_difference_would_overflow_are_none() {
        for line in [
            "2262-04-11T23:47:16Z", // a second more, as `spread` may add, is beyond 64 bits
            "1700-01-01T00:00:00Z",
            "9223372036854775800",
            "9e18",
        ] {
            assert_eq!(time(line), None, "{line}");
        }
        let log =
            |year: u32| format!("h - - [11/Apr/{year}:23:47:16 +0000] \"GET / HTTP/1.1\" 200 5\n");
        assert!(access(&log(2262)).is_none());
        assert_eq!(access(&(log(2025) + &log(1700))).unwrap().unwrap_err().at, "line 2");
        let (first, last) =
            (time("1825-01-01T00:00:00Z").unwrap(), time("2115-01-01 00:00:00").unwrap());
        let mut stamps = vec![first, first, last, last];
        assert_eq!(spread(&mut stamps), Some(1_000_000_000));
        assert!(stamps[3].checked_sub(stamps[0]).is_some());
    }

    #[test]
    fn times_of_a_coarse_unit_are_spread_within_it_and_keep_their_order() {
        let second = 1_000_000_000;
        let whole: Vec<i64> = (0..3000).map(|nth| 7 * second + nth / 100 * second).collect();
        let mut once = whole.clone();
        assert_eq!(spread(&mut once), Some(second));
        assert!(once.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(once.iter().zip(&whole).all(|(ns, was)| ns / second == was / second));
        let mut again = whole.clone();
        spread(&mut again);
        assert_eq!(once, again, "the same in every run");
        // Evenly over the unit: a tenth of all in each tenth, within five sigma.
        for tenth in 0..10 {
            let within =
                once.iter().filter(|&&ns| ns % second * 10 / second == tenth).count() as f64;
            assert!(
                (within - 300.0).abs() < 5.0 * (3000.0_f64 * 0.1 * 0.9).sqrt(),
                "{tenth}: {within}"
            );
        }
        let mut ms = vec![5_000_000, 5_000_000, 7_000_000];
        assert_eq!(spread(&mut ms), Some(1_000_000), "the unit is found");
        let mut exact = vec![second, 2 * second, 5 * second];
        assert_eq!(spread(&mut exact), None, "no two are the same");
        assert_eq!(exact, [second, 2 * second, 5 * second]);
        let mut last = vec![i64::MAX - 7; 2]; // as far as a time of a log may lie
        assert_eq!(spread(&mut last), Some(100));
        let mut fine = vec![11, 11, 12];
        assert_eq!(spread(&mut fine), None, "to the ns");
    }
}
