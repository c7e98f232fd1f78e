//! The head of an HTTP reply: its status, how its body is framed, whether the connection goes on.

use super::body::Body;

/// Longest head of a reply, bytes; curl's limit is 300 KiB, nginx's own for proxied ones 4 to 8 KiB.
pub(super) const HEAD_MAX: usize = 256 * 1024;
/// Headers for which there is room on the stack, and the most that are read.
const HEADERS_USUAL: usize = 64;
const HEADERS_MAX: usize = 4096;

/// What the head of the reply being read said.
pub(super) struct Reading {
    pub(super) status: u16,
    pub(super) is_last: bool,
    pub(super) body: Body,
}

/// What came of looking for a head.
pub(super) enum Head {
    /// Bytes used of the input, and what it said.
    Whole(usize, Reading),
    /// A 1xx: the real head follows.
    Informational(usize),
    Part,
    Garbled,
}

/// Parses a head at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Head {
    match parse_into(bytes, &mut [httparse::EMPTY_HEADER; HEADERS_USUAL]) {
        Some(head) => head,
        None => parse_into(bytes, &mut vec![httparse::EMPTY_HEADER; HEADERS_MAX])
            .unwrap_or(Head::Garbled),
    }
}

/// `None`: `headers` has room for too few.
fn parse_into<'a>(bytes: &'a [u8], headers: &mut [httparse::Header<'a>]) -> Option<Head> {
    let mut response = httparse::Response::new(headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(taken)) => Some(understood(&response, taken)),
        Ok(httparse::Status::Partial) => Some(Head::Part),
        Err(httparse::Error::TooManyHeaders) => None,
        Err(_) => Some(Head::Garbled),
    }
}

/// What a whole head of `taken` bytes says.
fn understood(response: &httparse::Response<'_, '_>, taken: usize) -> Head {
    let Some(status) = response.code else { return Head::Garbled };
    if (100..200).contains(&status) {
        return Head::Informational(taken);
    }
    let mut is_last = response.version == Some(0);
    let (mut length, mut transfer) = (None, None);
    let empty = match status {
        204 | 304 => Some(Body::of_length(0)),
        _ => None,
    };
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let told = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            if told.is_none() || length.is_some_and(|length| told != Some(length)) {
                return Head::Garbled; // none, or two that differ: RFC 9112, 6.3
            }
            length = told;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding")
            && value.to_ascii_lowercase().ends_with(b"chunked")
        {
            transfer = Some(Body::chunked());
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            transfer = Some(Body::until_close());
        } else if header.name.eq_ignore_ascii_case("connection") {
            let value = value.to_ascii_lowercase();
            is_last = value == b"close" || (is_last && value != b"keep-alive");
        }
    }
    // A transfer coding goes before a length, and nothing before a status without a body: 6.3.
    let body = empty.or(transfer).or(length.map(Body::of_length));
    let body = body.unwrap_or_else(Body::until_close);
    Head::Whole(taken, Reading { status, is_last, body })
}
