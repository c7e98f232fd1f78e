//! HAR 1.2, as browsers and proxies save it: one JSON object with a list of entries.

use serde::Deserialize;
use sojourn_base::Fault;

use super::{Access, Entry, date, is_near, method, url};

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
    let head: Vec<u8> = text.bytes().filter(|byte| !is_blank(byte)).take(7).collect();
    head == *b"{\"log\":"
}

pub(super) fn read(text: &str) -> Result<Access<'static>, Fault> {
    let har: Har = serde_json::from_str(text).map_err(|error| {
        let at = format!("line {}", error.line());
        Fault::usage(format!("this is no HAR that can be read: {error}"), at, FIX)
    })?;
    let mut log = Access { has_times: true, ..Access::default() };
    for Recorded { started_date_time, request } in har.log.entries {
        let path = url::path(&request.url).map(|path| url::encoded(path).into_owned());
        match (date::of_iso(&started_date_time).filter(|ns| is_near(*ns)), path) {
            (Some(at_ns), Some(path)) => {
                log.with_secrets += usize::from(request.has_secrets());
                log.entries.push(Entry {
                    at_ns,
                    method: method(&request.method),
                    path: path.into(),
                });
            }
            _ => log.left_out += 1, // such as data: and blob:
        }
    }
    Ok(log)
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
        let entries = [
            entry("2024-05-28T12:00:00.250+02:00", "POST", "https://u:p@h/b?c=d", ""),
            entry("2024-05-28T10:00:00Z", "GET", "http://h/ü", r#","cookies":[{"name":"a"}]"#),
            entry("2024-05-28T10:00:01Z", "GET", "data:text/plain,x", ""),
            entry("", "GET", "http://h/", ""),
        ];
        let text =
            format!("{{ \"log\" :\n{{\"version\":\"1.2\",\"entries\":[{}]}}}}", entries.join(","));
        let log = super::super::access(&text).unwrap().unwrap();
        let noon = 1_716_890_400_000_000_000;
        let result: Vec<_> =
            log.entries.iter().map(|it| (it.at_ns - noon, it.method, &*it.path)).collect();
        let wanted = [(0, Some("GET"), "/%C3%BC"), (250_000_000, Some("POST"), "/b?c=d")];
        assert_eq!(result, wanted);
        assert_eq!((log.left_out, log.with_secrets), (2, 1));
        let cut = super::super::access(&text[..text.len() - 3]).unwrap().unwrap_err();
        assert!(cut.what.contains("no HAR"), "{cut}");
    }
}
