//! HAR 1.2, as browsers and proxies save it: one JSON object with a list of entries.

use serde::Deserialize;
use serde_json::Value;
use sojourn_base::Fault;

use super::collected::Collected;
use super::times::Stamp;
use super::{Access, date, is_near};

const FIX: &str = "the file may be cut short: save it again";

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Recorded>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    #[serde(default)]
    started_date_time: String,
    request: Request,
    /// Chrome: `memory` or `disk`, where the browser had the answer.
    #[serde(default, rename = "_fromCache")]
    from_cache: Value,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    cookies: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
}

/// Whether a text that begins with a brace is a HAR, and no line of JSON.
pub(super) fn is_it(text: &str) -> bool {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    let head: Vec<u8> = text.bytes().filter(|byte| !is_blank(byte)).take(8).collect();
    head == *b"{\"log\":{"
}

pub(super) fn read(text: &str) -> Result<Access<'static>, Fault> {
    let har: Har = serde_json::from_str(text).map_err(|error| {
        let at = format!("line {}", error.line());
        Fault::usage(format!("this is no HAR that can be read: {error}"), at, FIX)
    })?;
    let mut log = Collected::default();
    for Recorded { started_date_time, request, from_cache } in har.log.entries {
        if !matches!(from_cache, Value::Null | Value::Bool(false)) {
            log.leave_out_cached();
            continue;
        }
        let at_ns = date::of_iso(&started_date_time).filter(|ns| is_near(*ns));
        let has_secrets = request.has_secrets();
        let stamp = at_ns.map_or(Stamp::Missing, Stamp::Begin);
        if log.add(stamp, &request.method, request.url.into()) && has_secrets {
            log.mark_secrets();
        }
    }
    Ok(log.finish())
}

impl Request {
    fn has_secrets(&self) -> bool {
        !self.cookies.is_empty() || self.headers.iter().any(|header| is_secret(&header.name))
    }
}

/// Whether a header of this name says who asks.
pub(super) fn is_secret(name: &str) -> bool {
    ["cookie", "authorization", "proxy-authorization"]
        .iter()
        .any(|secret| secret.eq_ignore_ascii_case(name.trim()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn entries_are_requests_at_their_times_and_what_is_none_is_counted() {
        let entry = |at: &str, method: &str, url: &str, more: &str| {
            format!(
                r#"{{"startedDateTime":"{at}","time":3,"request":{{"method":"{method}","url":"{url}"{more}}}}}"#
            )
        };
        let cached = |url: &str, from: &str| {
            let from = format!("\"_fromCache\":\"{from}\",\"time\"");
            entry("2024-05-28T10:00:02Z", "GET", url, "").replace("\"time\"", &from)
        };
        let entries = [
            entry("2024-05-28T12:00:00.250+02:00", "POST", "https://u:p@h/b?c=d", ""),
            entry("2024-05-28T10:00:00Z", "GET", "http://h/ü", r#","cookies":[{"name":"a"}]"#),
            entry("2024-05-28T10:00:01Z", "GET", "data:text/plain,x", ""),
            entry("", "GET", "http://h/", ""),
            entry("2024-05-28T10:00:02Z", "PURGE", "http://h/", ""),
            cached("http://cdn/x.js", "disk"),
            cached("http://cdn/y.js", "memory"),
        ];
        let text =
            format!("{{ \"log\" :\n{{\"version\":\"1.2\",\"entries\":[{}]}}}}", entries.join(","));
        let log = super::super::access(&text).unwrap().unwrap();
        let noon = 1_716_890_400_000_000_000;
        let result: Vec<_> =
            log.entries.iter().map(|it| (it.at_ns - noon, it.method, &*it.path)).collect();
        let wanted = [(0, Some("GET"), "/%C3%BC"), (250_000_000, Some("POST"), "/b?c=d")];
        assert_eq!(result, wanted);
        assert_eq!((log.left_out, log.without_time, log.with_secrets), (1, 1, 1));
        assert_eq!((log.cached, log.other_methods, log.hosts, log.ends), (2, 1, 1, 0));
        let cut = super::super::access(&text[..text.len() - 3]).unwrap().unwrap_err();
        assert!(cut.what.contains("no HAR"), "{cut}");
    }
}
