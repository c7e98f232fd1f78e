//! The head of an HTTP reply: its status, how its body is framed, whether the connection goes on.
//!
//! Heads are taken as curl and browsers take them: a header may go on in a line that begins with a space
//! (RFC 9112, 5.2), a space may precede the colon, and a line that is no header is passed over.

use httparse::{Error, ParserConfig, Status};

use super::body::Body;
use super::flaws::Flaw;
use super::lists;

/// Longest head of a reply, bytes; curl's limit is 300 KiB, nginx's own for proxied ones 4 to 8 KiB.
pub(super) const HEAD_MAX: usize = 256 * 1024;
/// Headers for which there is room on the stack, and the most that are read.
const HEADERS_USUAL: usize = 64;
const HEADERS_MAX: usize = 4096;

/// What the head of the reply being read says.
pub(super) struct Reading {
    pub(super) status: u16,
    pub(super) is_last: bool,
    pub(super) body: Body,
}

/// What came of looking for a head.
pub(super) enum Head {
    /// Bytes used of the input, and what it says.
    Whole(usize, Reading),
    /// A 1xx: the real head follows.
    Informational(usize),
    Part,
    Refused(Flaw),
}

/// Parses a head at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Head {
    match parse_into(bytes, &mut [httparse::EMPTY_HEADER; HEADERS_USUAL]) {
        Some(head) => head,
        None => parse_into(bytes, &mut vec![httparse::EMPTY_HEADER; HEADERS_MAX])
            .unwrap_or(Head::Refused(Flaw::ManyHeaders)),
    }
}

/// `None`: `headers` has room for too few.
fn parse_into<'a>(bytes: &'a [u8], headers: &mut [httparse::Header<'a>]) -> Option<Head> {
    let mut response = httparse::Response::new(headers);
    let mut config = ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .ignore_invalid_headers_in_responses(true);
    match config.parse_response(&mut response, bytes) {
        Ok(Status::Complete(taken)) => Some(understood(&response, taken)),
        Ok(Status::Partial) => Some(Head::Part),
        Err(Error::TooManyHeaders) => None,
        Err(Error::HeaderName | Error::HeaderValue | Error::NewLine) => {
            Some(Head::Refused(Flaw::Header))
        }
        Err(_) => Some(Head::Refused(Flaw::StatusLine)),
    }
}

/// What a whole head of `taken` bytes says.
fn understood(response: &httparse::Response<'_, '_>, taken: usize) -> Head {
    let Some(status) = response.code else { return Head::Refused(Flaw::StatusLine) };
    if status == 101 {
        // The server speaks something else from now on, for which no one asked: RFC 9110, 15.2.2.
        return Head::Whole(taken, Reading { status, is_last: true, body: Body::of_length(0) });
    }
    if (100..200).contains(&status) {
        return Head::Informational(taken);
    }
    let (mut closes, mut stays) = (false, false);
    let (mut length, mut coding) = (None, None);
    for header in response.headers.iter() {
        let (name, value) = (header.name, header.value);
        if name.eq_ignore_ascii_case("content-length") {
            let number = lists::number(value);
            if number.is_none() || length.is_some_and(|length| number != Some(length)) {
                return Head::Refused(Flaw::Length); // none, or two that differ: RFC 9112, 6.3
            }
            length = number;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            coding = last_coding(value).or(coding);
        } else if name.eq_ignore_ascii_case("connection") {
            closes |= lists::has(value, "close");
            stays |= lists::has(value, "keep-alive");
        }
    }
    let empty = matches!(status, 204 | 304).then(|| Body::of_length(0));
    let coded =
        coding.map(|is_chunked| if is_chunked { Body::chunked() } else { Body::until_close() });
    // A transfer coding goes before a length, and nothing before a status without a body: 6.3.
    let body = empty.or(coded).or(length.map(Body::of_length));
    let body = body.unwrap_or_else(Body::until_close);
    let is_last = closes || (response.version == Some(0) && !stays); // RFC 9112, 9.3
    Head::Whole(taken, Reading { status, is_last, body })
}

/// Whether the last of some transfer codings is `chunked`; `None`: there is none. `identity` was one once,
/// and says nothing.
fn last_coding(value: &[u8]) -> Option<bool> {
    let known = lists::items(value).map(without_parameters);
    let last = known.filter(|name| !name.eq_ignore_ascii_case(b"identity")).last()?;
    Some(last.eq_ignore_ascii_case(b"chunked"))
}

fn without_parameters(coding: &[u8]) -> &[u8] {
    coding.split(|&byte| byte == b';').next().unwrap_or(coding).trim_ascii()
}
