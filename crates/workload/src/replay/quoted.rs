//! Requests in the quotes of an access log, as they were made.
//!
//! Servers write a quote, a backslash and bytes that are no printable ASCII as `\"`, `\\`, `\n` or `\xHH`
//! (Apache: `mod_log_config`; NGINX: `log_format`, `escape=default`). Such bytes go into a path as `%XX`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What the first pair of quotes in `text` holds.
pub(super) fn first(text: &str) -> Option<&str> {
    let rest = &text[text.find('"')? + 1..];
    let mut bytes = rest.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(&rest[..at]),
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    None
}

/// The path that a log writes as `text`.
pub(super) fn as_path(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return text.into();
    }
    let mut path = String::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, used)) = next(rest) {
        rest = &rest[used..];
        if byte.is_ascii_graphic() {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}"); // a String takes all
        }
    }
    path.into()
}

/// The first byte that `bytes` stand for, and how many of them do.
fn next(bytes: &[u8]) -> Option<(u8, usize)> {
    if let [b'\\', b'x', high, low, ..] = *bytes
        && let Some(byte) = hex(high, low)
    {
        return Some((byte, 4));
    }
    Some(match *bytes {
        [b'\\', b'n', ..] => (b'\n', 2),
        [b'\\', b'r', ..] => (b'\r', 2),
        [b'\\', b't', ..] => (b'\t', 2),
        [b'\\', b'b', ..] => (8, 2),
        [b'\\', b'v', ..] => (11, 2),
        [b'\\', byte @ (b'"' | b'\\'), ..] => (byte, 2),
        [byte, ..] => (byte, 1),
        [] => return None,
    })
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_behind_a_backslash_ends_nothing() {
        assert_eq!(first(r#" "GET /a\"b HTTP/1.1" 200 "x""#), Some(r#"GET /a\"b HTTP/1.1"#));
        assert_eq!(first(r#""a\\" 5 "b""#), Some(r"a\\"), "that one is escaped itself");
        for torn in ["", "none", r#""open"#, r#""open\""#] {
            assert_eq!(first(torn), None, "{torn}");
        }
    }

    #[test]
    fn escapes_are_undone_and_what_no_path_may_hold_is_in_hexadecimal() {
        for (text, path) in [
            ("/a?b=%41", "/a?b=%41"),
            (r#"/q\"\\x"#, r#"/q"\x"#),
            (r"/\x22\xC3\xbc", "/\"%C3%BC"),
            ("/ü", "/%C3%BC"),
            (r"/\t\n\x7F", "/%09%0A%7F"),
            (r"/\xZZ\q\", r"/\xZZ\q\"),
        ] {
            assert_eq!(as_path(text), path, "{text}");
        }
    }
}
