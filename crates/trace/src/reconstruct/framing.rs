//! Does a read hold more than one request? A client that pipelines has several in one.
//!
//! The kernel side knows reads, not requests: what one read takes it counts as one. Where that is
//! wrong the result says so, from a look into every 64th read.

use std::str;

/// Text commands of memcache that end with their line.
const LINES: &[&str] = &[
    "get",
    "gets",
    "gat",
    "gats",
    "mg",
    "md",
    "ma",
    "me",
    "mn",
    "delete",
    "incr",
    "decr",
    "touch",
    "version",
    "stats",
    "verbosity",
    "flush_all",
];
/// Those with a block of data behind it, and which word says how long that is.
const BLOCKS: &[(&str, usize)] =
    &[("set", 4), ("add", 4), ("replace", 4), ("append", 4), ("prepend", 4), ("cas", 4), ("ms", 2)];
/// Methods of HTTP whose requests have no body, unless their head says so.
const BODILESS: &[&str] = &["GET", "HEAD", "DELETE", "OPTIONS"];
/// Those that may have one.
const WITH_BODY: &[&str] = &["POST", "PUT", "PATCH"];

/// Whether a read of `bytes` that begins with `text` holds more than one request of memcache (text or
/// binary), RESP or HTTP/1. False where the first one's end is not in what is shown.
pub fn holds_several(text: &[u8], bytes: usize) -> bool {
    first(text).is_some_and(|end| end < bytes)
}

/// Where the first request ends; `None`: not known.
fn first(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'*' => resp(text),
        0x80 => after(24, u32::from_be_bytes(text.get(8..12)?.try_into().ok()?).try_into().ok()?),
        _ => memcache(text).or_else(|| http(text)),
    }
}

/// `at` and `length` more. Lengths are the client's words: `None` where no memory has so many bytes.
fn after(at: usize, length: usize) -> Option<usize> {
    at.checked_add(length).filter(|end| isize::try_from(*end).is_ok())
}

/// `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`. Every part moves `at` on, so that the bytes shown end the loop and not the
/// number of parts.
fn resp(text: &[u8]) -> Option<usize> {
    let (parts, mut at) = number_after(text, 0, b'*')?;
    for _ in 0..parts {
        let (length, text_at) = number_after(text, at, b'$')?;
        at = after(text_at, length).and_then(|end| after(end, 2))?;
    }
    Some(at)
}

/// The number between `mark` at `at` and the end of its line, and where the next line begins.
fn number_after(text: &[u8], at: usize, mark: u8) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let end = line_end(rest)?;
    let (first, digits) = rest[..end - 2].split_first()?;
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    (*first == mark).then_some((number, at + end))
}

fn memcache(text: &[u8]) -> Option<usize> {
    let end = line_end(text)?;
    let words: Vec<&str> = str::from_utf8(&text[..end - 2]).ok()?.split(' ').collect();
    if LINES.contains(&words[0]) {
        return Some(end);
    }
    let (_, word) = BLOCKS.iter().find(|(name, _)| *name == words[0])?;
    let block: usize = words.get(*word)?.parse().ok()?;
    after(end, block).and_then(|end| after(end, 2))
}

/// The body's length is in the head (RFC 9112, section 6.3). A search may be a GET with a body.
fn http(text: &[u8]) -> Option<usize> {
    let end = text.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let mut lines = str::from_utf8(&text[..end - 4]).ok()?.split("\r\n");
    let method = lines.next()?.split(' ').next()?;
    let (mut length, is_bodiless) = (None, BODILESS.contains(&method));
    if !is_bodiless && !WITH_BODY.contains(&method) {
        return None;
    }
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return None;
        }
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse().ok()?);
        }
    }
    after(end, length.or_else(|| is_bodiless.then_some(0))?)
}

/// Length of the first line with its end.
fn line_end(text: &[u8]) -> Option<usize> {
    text.windows(2).position(|two| two == b"\r\n").map(|at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &[u8; 27] = b"\x80\0\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0key";

    #[test]
    fn two_requests_in_a_read_are_several_and_one_is_not() {
        let requests: [&[u8]; 11] = [
            b"get k\r\n",
            b"set k 0 0 5\r\nab\r\nc\r\n",
            b"mg k v\r\n",
            b"ms k 3\r\nabc\r\n",
            b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n",
            b"*1\r\n$4\r\nPING\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /_search HTTP/1.1\r\ncontent-length: 11\r\n\r\n{\"size\": 1}",
            b"POST /x HTTP/1.1\r\nContent-Length:4\r\nHost: a\r\n\r\nabcd",
            BINARY,
        ];
        for request in requests {
            assert!(!holds_several(request, request.len()), "{request:?}");
            assert!(holds_several(&request.repeat(2), 2 * request.len()), "{request:?}");
            // A second one that is not shown whole, or not at all.
            assert!(holds_several(request, request.len() + 1), "{request:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_not_reported() {
        for text in [
            &b""[..],
            b"get a very long ke",
            b"*3\r\n$3\r\nSET\r\n$1",
            b"POST / HTTP/1.1\r\n\r\nab",
            b"DELETE /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            b"\x17\x03\x03 something else\r\n",
            b"*x\r\n$3\r\n",
            b"set k 0 0\r\n",
        ] {
            assert!(!holds_several(text, 4096), "{text:?}");
        }
    }

    /// Lengths that come back to where they were, or to just behind it, once they overflow.
    #[test]
    fn a_length_beyond_all_memory_ends_nowhere() {
        for text in [
            &b"*18446744073709551615\r\n$18446744073709551591\r\n"[..],
            b"*18446744073709551615\r\n$0\r\n\r\n",
            b"*1\r\n$18446744073709551615\r\n",
            b"*1\r\n$9223372036854775807\r\n",
            b"set k 0 0 18446744073709551615\r\n",
            b"ms k 18446744073709551615\r\n",
            b"ms k 9223372036854775807\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n",
            b"\x80\0\0\x03\0\0\0\0\xff\xff\xff\xff",
        ] {
            for bytes in [text.len(), 46, 4096] {
                assert!(!holds_several(text, bytes), "{text:?}");
            }
        }
    }
}
