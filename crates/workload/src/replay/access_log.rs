//! Access logs in the common or combined format: a time in brackets, then a request in quotes.

use super::collected::Collected;
use super::times::Stamp;
use super::{Access, date, is_method, is_near, is_self_evident, lines, quoted};

/// No time in brackets is longer, bytes.
const TIME_MAX: usize = 40;

/// Whether a log begins with such a line.
pub(super) fn is_it(line: &str) -> bool {
    time(line).is_some()
}

pub(super) fn read(text: &str) -> Access<'_> {
    let mut log = Collected::default();
    for (line, _) in lines(text) {
        let (stamp, rest) = match time(line) {
            Some((at_ns, rest)) => (Stamp::End(at_ns, None), rest), // Apache's are those of the begin
            None => (Stamp::Missing, line),
        };
        match request(rest) {
            Some((name, target)) => {
                log.add(stamp, name, quoted::as_path(target));
            }
            None => log.leave_out(),
        }
    }
    log.finish()
}

/// The time in brackets, `[10/Oct/2000:13:55:36 -0700]` or `[1716890400.123]`, and what is behind it, which
/// has quotes. A name of a user or a host ahead of it may have brackets too.
fn time(line: &str) -> Option<(i64, &str)> {
    let last = line.rfind('"')?;
    line[..last].match_indices('[').find_map(|(begin, _)| {
        let begin = begin + 1;
        let length = line.bytes().skip(begin).take(TIME_MAX).position(|byte| byte == b']')?;
        let (text, rest) = line[begin..].split_at(length);
        let number = || super::time(text).filter(|_| is_self_evident(text));
        let at_ns = date::of_log(text).or_else(number).filter(|ns| is_near(*ns))?;
        (begin + length < last).then_some((at_ns, rest))
    })
}

/// The method and the target of the first request in quotes.
fn request(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = quoted::first(text)?.split_once(' ')?;
    let target = rest.rsplit_once(' ').map_or(rest, |(target, _)| target);
    let is_one = is_method(name) && !target.contains(char::is_whitespace);
    is_one.then_some((name, target))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_NS: i64 = 1_716_890_400_000_000_000;

    #[test]
    fn a_time_is_a_date_or_a_number_since_1970_and_may_be_behind_other_brackets() {
        for (line, past_noon_ns) in [
            ("h - - [28/May/2024:12:00:00 +0200] \"GET / HTTP/1.1\" 200 5", 0),
            ("h - - [1716890400.250] \"GET / HTTP/1.1\" 200 5", 250_000_000),
            ("[2024-05-28T10:00:00.25Z] \"GET / HTTP/1.1\" 200", 250_000_000),
            ("h - a[b [28/May/2024:12:00:00 +0200] \"GET / HTTP/1.1\" 200 5", 0),
            ("[::1] h - ü]a[ü [1716890400] \"GET / HTTP/1.1\" 200 5", 0),
        ] {
            assert!(is_it(line), "{line}");
            let log = read(line);
            let at: Vec<_> = log.entries.iter().map(|entry| entry.at_ns - NOON_NS).collect();
            assert_eq!((at, log.ends), (vec![past_noon_ns], 1), "{line}");
            assert!(log.ends_note().is_some(), "NGINX writes the end");
        }
        for line in [
            "h [12] \"GET / HTTP/1.1\"",
            "h [1716890400] GET /",
            "h [error] \"GET / HTTP/1.1\"",
            "h [28/May/2024:12:00:00 +0200 \"GET / HTTP/1.1\"",
        ] {
            assert!(!is_it(line), "{line}");
        }
    }

    #[test]
    fn methods_that_http_does_not_have_and_lines_without_a_time_are_counted() {
        let line = |request: &str| format!("h - - [28/May/2024:12:00:00 +0200] \"{request}\" 1\n");
        let lines = ["GET /a HTTP/1.1", "PROPFIND /b HTTP/1.1", "PURGE /c", "get /d", "-"];
        let text = lines.map(line).concat() + "h - - [?] \"GET /e HTTP/1.1\" 200 5\n[torn\n";
        let log = read(&text);
        let paths: Vec<_> = log.entries.iter().map(|entry| &*entry.path).collect();
        assert_eq!((paths, log.other_methods, log.without_time), (vec!["/a"], 2, 1));
        assert_eq!(log.left_out, 3, "get, -, and what is torn");
    }
}
