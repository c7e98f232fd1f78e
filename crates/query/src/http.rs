//! Requests out of bytes, replies into bytes: as much of HTTP/1.1 as `GET /q/{n}` takes.

/// What the bytes at hand begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A part of a request.
    More,
    /// A whole request of so many bytes.
    Request {
        /// Bytes used.
        used: usize,
        /// What it asks.
        asked: Asked,
        /// The client wants the connection closed after the reply.
        is_last: bool,
    },
    /// What is no HTTP, or too long for a request.
    Broken,
}

/// What an HTTP request asks of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Query number n.
    Query(u64),
    /// Whether the data hold together.
    Check,
    /// Anything else: it is answered with this status.
    Other(Status),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is no such path or query.
    NotFound,
    /// Only GET is understood.
    NotAllowed,
    /// The work gave no answer.
    Failed,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::NotFound => "404 Not Found",
            Self::NotAllowed => "405 Method Not Allowed",
            Self::Failed => "500 Internal Server Error",
        }
    }
}

/// Longest request, bytes.
pub const HEAD_BYTES_MAX: usize = 8192;
const END: &[u8] = b"\r\n\r\n";

/// Reads the first request in `input`. Stateless: what is not complete is read again.
pub fn parse(input: &[u8]) -> Parsed {
    let Some(at) = input.windows(END.len()).position(|four| four == END) else {
        return if input.len() > HEAD_BYTES_MAX { Parsed::Broken } else { Parsed::More };
    };
    let Ok(head) = str::from_utf8(&input[..at]) else { return Parsed::Broken };
    let (line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
    let mut words = line.split(' ');
    let (Some(method), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Parsed::Broken;
    };
    if !version.starts_with("HTTP/1.") || has_body(fields) {
        return Parsed::Broken;
    }
    let asked = if method == "GET" { of_path(path) } else { Asked::Other(Status::NotAllowed) };
    let is_last = values(fields, "connection")
        .flat_map(|value| value.split(','))
        .any(|option| option.trim().eq_ignore_ascii_case("close"));
    Parsed::Request { used: at + END.len(), asked, is_last: is_last || version == "HTTP/1.0" }
}

fn of_path(path: &str) -> Asked {
    if path == "/check" {
        return Asked::Check;
    }
    let number = path.strip_prefix("/q/").and_then(|number| number.parse().ok());
    number.map_or(Asked::Other(Status::NotFound), Asked::Query)
}

/// A body would be taken for the next request.
fn has_body(fields: &str) -> bool {
    values(fields, "content-length").any(|length| length != "0")
        || values(fields, "transfer-encoding").next().is_some()
}

/// What each field of this name says, in their order.
fn values<'a>(fields: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    fields.split("\r\n").filter_map(move |line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Appends a reply with the answer.
pub fn answer(body: &str, reply: &mut Vec<u8>) {
    put("200 OK", body, reply);
}

/// Appends a reply that says why there is none.
pub fn refuse(status: Status, why: &str, reply: &mut Vec<u8>) {
    put(status.line(), why, reply);
}

fn put(status: &str, body: &str, reply: &mut Vec<u8>) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"
    );
    reply.extend_from_slice(head.as_bytes());
    reply.extend_from_slice(body.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(input: &str) -> Parsed {
        parse(input.as_bytes())
    }

    #[test]
    fn a_query_is_read_whole_and_no_part_of_it_is() {
        let input = "GET /q/12 HTTP/1.1\r\nHost: a\r\n\r\n";
        for at in 0..input.len() {
            assert_eq!(request(&input[..at]), Parsed::More);
        }
        let two = format!("{input}GET /q/13 HTTP/1.1\r\n\r\n");
        let used = input.len();
        assert_eq!(
            request(&two),
            Parsed::Request { used, asked: Asked::Query(12), is_last: false }
        );
    }

    #[test]
    fn what_is_no_query_is_said_to_be_none() {
        let cases = [
            ("GET /x HTTP/1.1\r\n\r\n", Status::NotFound),
            ("GET /q/-1 HTTP/1.1\r\n\r\n", Status::NotFound),
            ("GET /q/99999999999999999999 HTTP/1.1\r\n\r\n", Status::NotFound),
            ("DELETE /q/1 HTTP/1.1\r\n\r\n", Status::NotAllowed),
        ];
        for (input, status) in cases {
            let Parsed::Request { asked, used, .. } = request(input) else { panic!("{input}") };
            assert_eq!((asked, used), (Asked::Other(status), input.len()));
        }
        let post = "POST /q/1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let hidden = "GET /q/1 HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 3\r\n\r\nabc";
        let broken = [
            post,
            hidden,
            "hello\r\n\r\n",
            "GET /q/1 SPDY\r\n\r\n",
            &"x".repeat(HEAD_BYTES_MAX + 1),
        ];
        for input in broken {
            assert_eq!(request(input), Parsed::Broken, "{input}");
        }
    }

    #[test]
    fn who_asks_to_be_closed_is() {
        for options in ["Close", "keep-alive, close", "TE,close", "TE\r\nConnection: close"] {
            let close = format!("GET /q/1 HTTP/1.1\r\nCONNECTION: {options}\r\n\r\n");
            assert!(matches!(request(&close), Parsed::Request { is_last: true, .. }), "{options}");
        }
        let stays = "GET /q/1 HTTP/1.1\r\nConnection: keep-alive, closed\r\n\r\n";
        assert!(matches!(request(stays), Parsed::Request { is_last: false, .. }));
        assert!(matches!(
            request("GET /q/1 HTTP/1.0\r\n\r\n"),
            Parsed::Request { is_last: true, .. }
        ));
    }

    #[test]
    fn a_reply_has_the_length_of_its_body() {
        let mut reply = Vec::new();
        answer("abc", &mut reply);
        refuse(Status::NotFound, "no", &mut reply);
        let text = String::from_utf8(reply).unwrap();
        assert!(text.contains("Content-Length: 3\r\n\r\nabcHTTP/1.1 404 Not Found"), "{text}");
        assert!(text.ends_with("Content-Length: 2\r\n\r\nno"), "{text}");
    }
}
