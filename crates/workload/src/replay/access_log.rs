//! Access logs in the common or combined format: a time in brackets, then a request in quotes.
//!
//! Read as well are lines with such a request and a time at their beginning (load balancers of AWS, lines that a
//! logger or a container puts a time before), or with none (uvicorn).

use super::collected::Collected;
use super::times::Stamp;
use super::{Access, date, is_method, is_near, is_self_evident, lines, quoted};

/// No time in brackets is longer, bytes.
const TIME_MAX: usize = 40;

/// Whether a log begins with such a line.
pub(super) fn is_it(line: &str) -> bool {
    time(line).is_some() || is_request(line)
}

/// Whether the first quotes of a line hold a whole request, with the version of HTTP. What is in brackets
/// before them would be a time that cannot be read.
fn is_request(line: &str) -> bool {
    let has_version =
        |text: &str| text.rsplit_once(' ').is_some_and(|(_, last)| last.starts_with("HTTP/"));
    let has_no_time = line.split('"').next().is_some_and(|ahead| !ahead.contains('['));
    has_no_time && request(line).is_some() && quoted::first(line).is_some_and(has_version)
}

pub(super) fn read(text: &str) -> Access<'_> {
    let mut log = Collected::default();
    for (line, _) in lines(text) {
        let (stamp, rest) = match time(line) {
            Some((at_ns, rest)) => (Stamp::End(at_ns, None), rest), // Apache's are those of the begin
            None => (leading(line).map_or(Stamp::Missing, |at_ns| Stamp::End(at_ns, None)), line),
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

/// The time at the beginning of a line, or behind its first word.
fn leading(line: &str) -> Option<i64> {
    let rest = line.split_once(' ').map_or("", |(_, rest)| rest);
    [line, rest].into_iter().filter(|text| is_self_evident(text)).find_map(super::time)
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
    fn a_time_may_be_at_the_beginning_or_missing() {
        for (line, past_noon_ns) in [
            (
                "http 2024-05-28T10:00:00.25Z app/lb/5 10.0.0.1:9 10.0.0.2:80 0.0 200 \"GET http://h:80/a HTTP/1.1\"",
                250_000_000,
            ),
            ("2024-05-28 10:00:00,25 INFO 10.0.0.1:9 - \"GET /a HTTP/1.1\" 200", 250_000_000),
            (
                "2024-05-28T10:00:00.25Z INFO:     10.0.0.1:9 - \"GET /a HTTP/1.1\" 200 OK",
                250_000_000,
            ),
            ("10.0.0.1 - - [28/May/2024 10:00:00] \"GET /a HTTP/1.1\" 200 -", 0),
        ] {
            assert!(is_it(line), "{line}");
            let log = read(line);
            let result: Vec<_> =
                log.entries.iter().map(|it| (it.at_ns - NOON_NS, &*it.path)).collect();
            assert_eq!((result, log.ends), (vec![(past_noon_ns, "/a")], 1), "{line}");
        }
        let uvicorn = "INFO:     10.0.0.1:9 - \"GET /a HTTP/1.1\" 200 OK";
        assert!(is_it(uvicorn));
        let log = read(uvicorn);
        assert_eq!((log.entries.len(), log.has_times), (1, false));
        for line in ["see \"GET /a\" there", "\"-\" 408", "a \"GET a b HTTP/1.1\" 1"] {
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
