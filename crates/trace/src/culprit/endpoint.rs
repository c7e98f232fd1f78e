//! What a request asked for, from how it begins: memcache command, RESP command, HTTP method and path.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reconstruct::record::Record;

/// Endpoints listed.
const LISTED: usize = 12;
/// Longest name that is taken for a command.
const WORD: usize = 24;
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
/// Commands of memcache's binary protocol by number, from 0 on.
const BINARY: [&str; 15] = [
    "get", "set", "add", "replace", "delete", "incr", "decr", "quit", "flush", "getq", "noop",
    "version", "getk", "getkq", "append",
];

/// How requests of one kind share in the tail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// `get`, `HGETALL`, `GET /img/*`; `?` if it is not known.
    pub name: String,
    /// Requests of the tail.
    pub tail_requests: u64,
    /// Their share of the tail.
    pub tail_share: f64,
    /// The same kind's share of the body: compare.
    pub body_share: f64,
    /// Mean total of those in the tail, ns.
    pub tail_mean_ns: f64,
}

/// The kinds of requests in the tail, the most frequent first.
pub fn list(tail: &[Record], body: &[Record]) -> Vec<Endpoint> {
    let mut kinds = HashMap::<String, (u64, u64, u64)>::new();
    for record in tail {
        let kind = kinds.entry(name(&record.text)).or_default();
        *kind = (kind.0 + 1, kind.1 + record.total_ns, kind.2);
    }
    for record in body {
        if let Some(kind) = kinds.get_mut(&name(&record.text)) {
            kind.2 += 1;
        }
    }
    let share = |n: u64, of: usize| n as f64 / of.max(1) as f64;
    let mut list: Vec<Endpoint> = kinds
        .into_iter()
        .map(|(name, (slow, total_ns, others))| Endpoint {
            name,
            tail_requests: slow,
            tail_share: share(slow, tail.len()),
            body_share: share(others, body.len()),
            tail_mean_ns: total_ns as f64 / slow as f64,
        })
        .collect();
    list.sort_by(|a, b| (b.tail_requests, &a.name).cmp(&(a.tail_requests, &b.name)));
    list.truncate(LISTED);
    list
}

/// What a request that begins like this asks for.
pub fn name(text: &[u8]) -> String {
    let result = match text.first() {
        Some(b'*') => resp(text),
        Some(0x80) => {
            text.get(1).and_then(|code| BINARY.get(usize::from(*code))).map(|n| (*n).into())
        }
        _ => line(text),
    };
    result.unwrap_or_else(|| "?".into())
}

/// `*2\r\n$3\r\nGET\r\n…`: the third line, in capitals, as Redis does not care.
fn resp(text: &[u8]) -> Option<String> {
    let word = text.split(|&byte| byte == b'\n').nth(2)?;
    word_of(word.strip_suffix(b"\r")?).map(|word| word.to_ascii_uppercase())
}

/// A command of memcache or RESP in a line, or a method with its path.
fn line(text: &[u8]) -> Option<String> {
    let mut words = text.split(|byte| matches!(byte, b' ' | b'\r' | b'\n' | 0));
    let first = word_of(words.next()?)?;
    if !METHODS.contains(&&*first) {
        return Some(first);
    }
    let path = String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
    let is_whole = words.next().is_some_and(|word| !word.is_empty());
    Some(format!("{first} {}", pattern(&path, is_whole)))
}

fn word_of(bytes: &[u8]) -> Option<String> {
    let is_word = !bytes.is_empty()
        && bytes.len() <= WORD
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    is_word.then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// A path without its query, in which parts with a digit, which name one thing of many, are `*`; the last
/// part too if it is cut off.
fn pattern(path: &str, is_whole: bool) -> String {
    let is_whole = is_whole || path.contains('?');
    let path = path.split('?').next().unwrap_or_default();
    let last = path.split('/').count() - 1;
    let part = |(number, part): (usize, &str)| {
        let is_one = part.chars().any(|c| c.is_ascii_digit()) || (number == last && !is_whole);
        if is_one && !part.is_empty() { "*".to_owned() } else { part.to_owned() }
    };
    path.split('/').enumerate().map(part).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::record::TEXT;
    use crate::reconstruct::record::tests::record;

    fn of(text: &[u8]) -> String {
        let mut bytes = [0; TEXT];
        let shown = text.len().min(TEXT);
        bytes[..shown].copy_from_slice(&text[..shown]);
        name(&bytes)
    }

    #[test]
    fn requests_of_every_protocol_are_distinguished() {
        for (text, name) in [
            (&b"get key\r\n"[..], "get"),
            (b"set key 0 0 100\r\nxxx", "set"),
            (b"mg key v\r\n", "mg"),
            (b"\x80\x01\0\x03rest", "set"),
            (b"*2\r\n$7\r\nhgetall\r\n$1\r\nk\r\n", "HGETALL"),
            (b"PING\r\n", "PING"),
            (b"GET / HTTP/1.1\r\n", "GET /"),
            (b"GET /img/4711.png?x=1 HTTP/1.1\r\n", "GET /img/*"),
            (b"POST /users/12/posts HTTP/1.1\r\n", "POST /users/*/posts"),
            (
                b"GET /a/very/long/path/that/does/not/end/where/it/is/cut HTTP/1.1",
                "GET /a/very/long/path/that/does/not/end/where/*",
            ),
            (b"\x16\x03\x01\x02", "?"),
            (b"", "?"),
        ] {
            assert_eq!(of(text), name);
        }
    }

    #[test]
    fn shares_are_of_each_group() {
        let with = |text: &[u8], total_ns| {
            let mut record = record(total_ns);
            record.text[..text.len()].copy_from_slice(text);
            record
        };
        let tail = [with(b"set k\r\n", 300), with(b"set k\r\n", 100), with(b"get k\r\n", 200)];
        let body = [with(b"get k\r\n", 1), with(b"get k\r\n", 1), with(b"set k\r\n", 1), record(1)];
        let list = list(&tail, &body);
        assert_eq!((list.len(), &*list[0].name, list[0].tail_requests), (2, "set", 2));
        assert!((list[0].tail_share - 2.0 / 3.0).abs() < 1e-9 && list[0].body_share == 0.25);
        assert_eq!((list[0].tail_mean_ns, list[1].body_share), (200.0, 0.5));
    }
}
