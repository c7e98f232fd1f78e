//! Logs that are replayed: when each request came, and what it asked for.
//!
//! Read are a column of times, in s, ms, µs or ns since 1970 or since anything, or of dates; and logs of
//! requests: access logs in the common or combined format, lines of JSON, CSV with a head, HAR, and vegeta's
//! targets, which have no times. Left out and counted are lines without a request (`"-"`, noise on a TLS port),
//! requests of methods that HTTP does not have, and requests without a time in a log that has times. The rest is
//! brought into the order of time: servers write a line when its request is over. All who read a log of times
//! or of paths read this, so that both have the same requests.
//!
//! NGINX and Caddy write the time at which a request ended. Where a line has the duration too, it is
//! subtracted; elsewhere a stall of the logged server becomes a burst, which [`Access::ends_note`] says.
//!
//! A log of whole seconds, or of any other unit, says that a request came within that unit and not when.
//! Where two of its times are the same, each is drawn anew, evenly within its unit, in the order of the
//! log and the same in every run: so a Poisson process lies within a second of which only the count is
//! known. To leave them at its beginning would make a burst of every second.

use std::borrow::Cow;

use sojourn_base::Fault;
use sojourn_base::rng::{RngExt as _, stream};

mod access_log;
mod collected;
mod csv;
mod date;
mod file;
mod har;
mod json_lines;
mod numbers;
mod quoted;
mod targets;
mod times;
mod url;
mod w3c;

pub use file::{forget, text};
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
    /// Lines that have no request.
    pub left_out: usize,
    /// Requests without a time that can be read, in a log where others have one.
    pub without_time: usize,
    /// Requests of other methods than the one that is replayed, and of such that HTTP does not have.
    pub other_methods: usize,
    /// Requests that no server saw, because the browser had the answer.
    pub cached: usize,
    /// Requests with cookies or an authorisation in the log; neither is ever sent.
    pub with_secrets: usize,
    /// Requests at the time of what may be their end.
    pub ends: usize,
    /// How many hosts the log names.
    pub hosts: usize,
}

impl Access<'_> {
    /// Leaves out requests of other methods; one whose method the log does not say stays.
    pub fn keep_method(&mut self, method: &str) {
        let all = self.entries.len();
        self.entries.retain(|entry| entry.method.is_none_or(|its| its == method));
        self.other_methods += all - self.entries.len();
    }

    /// What a reader of the result must know of its requests; `None`: they are as they were logged.
    pub fn note(&self) -> Option<String> {
        let hosts = if self.hosts > 1 { self.hosts } else { 0 };
        let counts = [
            (self.left_out, "lines of the log have no request and were left out"),
            (self.without_time, "requests of the log have no time and were left out"),
            (self.other_methods, "requests of the log have other methods and were left out"),
            (self.cached, "requests of the log were answered by a cache and were left out"),
            (
                self.with_secrets,
                "requests of the log have cookies or an authorisation, and neither is sent",
            ),
            (hosts, "hosts are named in the log, and the target gets what is sent of all of them"),
        ];
        joined(counts.map(|(count, what)| (count > 0).then(|| format!("{count} {what}"))))
    }

    /// What a reader must know who sends its requests at its times; `None`: they are those of arrivals.
    pub fn ends_note(&self) -> Option<String> {
        (self.ends > 0).then(|| {
            format!(
                "{} requests of the log may have the time of their end, as NGINX and Caddy write \
                 it: after a stall they come as a burst",
                self.ends
            )
        })
    }

    /// What a reader must know who expects its times; `None`: it has some.
    pub fn no_times_note(&self) -> Option<String> {
        let note = "no request of the log has a time, so the rate and the arrivals of the job say \
                    when each is sent";
        (!self.has_times).then(|| note.into())
    }
}

/// Those notes that there are, in one text; `None`: there is none.
pub fn joined(notes: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// `text` without the mark that some editors begin a file with.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Lines that say something, without space around them, and their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    whole_lines(text).map(|(line, number)| (line.trim(), number))
}

/// The same with the space, because a tab at the end is followed by an empty field.
fn whole_lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    unmarked(text).lines().zip(1..).filter(|(line, _)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    })
}

/// The log of requests that `text` is; `None`: it is of none of the known formats. Faults name the line.
pub fn access(text: &str) -> Option<Result<Access<'_>, Fault>> {
    let text = unmarked(text);
    let (head, _) = whole_lines(text).next()?;
    let first = head.trim();
    let log = if w3c::is_it(text) {
        Ok(w3c::read(text))
    } else if first.starts_with('{') {
        if har::is_it(text) { har::read(text) } else { json_lines::read(text) }
    } else if access_log::is_it(first) {
        Ok(access_log::read(text))
    } else if targets::is_it(first) {
        targets::read(text)
    } else if let Some(columns) = csv::columns(head) {
        csv::read(text, &columns)
    } else if lines(text).nth(1).is_some_and(|(line, _)| access_log::is_it(line)) {
        Ok(access_log::read(text)) // its first line is torn, as tail -c leaves it
    } else {
        return None;
    };
    Some(log.map(|mut log| {
        log.entries.sort_by_key(|entry| entry.at_ns); // stable: equal times keep the log's order
        log
    }))
}

/// The method of this name; `None`: HTTP has none.
fn method(name: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|method| method.eq_ignore_ascii_case(name))
}

/// Whether a word is written as a method is, one of `WebDAV` or of a cache too: `PROPFIND`, `PURGE`, `M-SEARCH`.
fn is_method(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

/// What is wrong with a line of a log.
fn wrong(what: &str, line: usize, fix: &str) -> Fault {
    Fault::usage(what, format!("line {line}"), fix)
}

/// The time that a line begins with, ns: a number, whose size says its unit, or a date.
pub fn time(line: &str) -> Option<i64> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let date = || {
        date::of_iso(first).or_else(|| {
            let clock = words.next()?;
            let zone = words.next().filter(|word| is_zone(word)).unwrap_or_default();
            let local = format!("{first}T{clock}");
            date::of_iso(&format!("{local}{zone}")).or_else(|| date::of_iso(&local))
        })
    };
    number(first).or_else(date).filter(|ns| is_near(*ns))
}

/// Whether a word behind a date and a time is their zone, as in `+0200` and `-07:00`.
fn is_zone(word: &str) -> bool {
    let Some(ahead) = word.strip_prefix(['+', '-']) else { return false };
    let digits = ahead.bytes().filter(u8::is_ascii_digit).count();
    digits == 4 && (ahead.len() == 4 || (ahead.len() == 5 && ahead.as_bytes()[2] == b':'))
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
    Some(grain(stamps_ns)).filter(|unit_ns| *unit_ns > 1)
}

/// The largest power of ten, ns, of which all times are multiples, 1 s at most.
fn grain(stamps_ns: &[i64]) -> i64 {
    let mut units = (1..=9).rev().map(|digits| 10_i64.pow(digits));
    units.find(|unit| stamps_ns.iter().all(|ns| ns % unit == 0)).unwrap_or(1)
}

#[cfg(test)]
mod tests;
