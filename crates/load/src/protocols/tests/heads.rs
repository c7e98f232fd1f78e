//! Heads of replies as servers send them, right and nearly right: what curl takes is taken.

use super::*;

/// The reply to one GET, all of it at once and byte by byte, and what was counted by name.
fn read(text: &str) -> (Option<Reply>, Vec<String>) {
    let protocol = set_up("http://h/", |job| job.expect_bytes = 5);
    let of = |cuts: &[usize]| {
        replies(protocol.as_ref(), &[asked(GET, 0)], text.as_bytes(), cuts).first().copied()
    };
    let whole = of(&[]);
    let statuses = protocol.statuses().unwrap().counts().into_keys().collect();
    let step = text.len() / 1000 + 1; // byte by byte, unless it is long
    let every: Vec<usize> = (0..text.len()).step_by(step).collect();
    assert_eq!(of(&every), whole, "in pieces: {text}");
    (whole, statuses)
}

/// Whether the connection ends with a reply of these headers.
fn is_last(version: &str, headers: &str) -> bool {
    let text = format!("HTTP/1.{version} 200 OK\r\nContent-Length: 5\r\n{headers}\r\n\r\nhello");
    let reply = read(&text).0.unwrap_or_else(|| panic!("no reply: {text}"));
    assert_eq!(reply.outcome, Outcome::Hit, "{text}");
    reply.last
}

/// RFC 9110, 7.6.1: `close` is an option of a list, and the list may take several lines.
#[test]
fn close_is_found_in_a_list_wherever_it_stands() {
    for headers in [
        "Connection: Upgrade, close",
        "Connection: close, foo",
        "connection:CLOSE,foo",
        "Connection: foo ,\tClose",
        "Connection: \"close\"",
        "Connection: upgrade\r\nConnection: close",
        "Connection: close\r\nConnection: keep-alive",
        "Connection: keep-alive, close",
        "Connection: foo,\r\n close",
        "Connection : close",
    ] {
        assert!(is_last("1", headers), "{headers}");
        assert!(is_last("0", headers), "HTTP/1.0, {headers}");
    }
    for headers in ["Connection: closed", "Connection: foo=\"a, close\"", "X-Connection: close"] {
        assert!(!is_last("1", headers), "{headers}");
    }
}

#[test]
fn an_old_server_keeps_a_connection_if_it_says_so_in_a_list() {
    for headers in [
        "Connection: keep-alive",
        "Connection: Keep-Alive, Upgrade",
        "Connection: foo\r\nConnection: KEEP-ALIVE",
    ] {
        assert!(!is_last("0", headers), "{headers}");
    }
    assert!(is_last("0", "Connection: foo") && is_last("0", "Keep-Alive: timeout=5"));
}

/// RFC 9112, 5.2 (folds), and what curl passes over.
#[test]
fn heads_that_curl_takes_are_taken() {
    for head in [
        "Content-Length: 5\r\nX-Long: a,\r\n b",
        "X-Long: a,\r\n\tb\r\n\tc\r\nContent-Length: 5",
        "Content-Length:\r\n 5",
        "Content-Length : 5",
        "Content-Length\t: 5",
        "\"Connection: close\"\r\nContent-Length: 5",
        "no header at all\r\nContent-Length: 5",
        "Content-Length: 5\r\n: nobody",
        "Content-Length: 5\r\nX@Y: z",
        "Content-Length: 5, 5",
        "Transfer-Encoding: identity\r\nContent-Length: 5",
        "Content-Length: 5\r\nX: \x01",
    ] {
        let (reply, statuses) = read(&format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\nhello"));
        let wanted = Some(Reply { outcome: Outcome::Hit, body_bytes: 5, last: false });
        assert_eq!((reply, statuses.len()), (wanted, 0), "{head}");
    }
    let coded = "Transfer-Encoding: gzip\r\nTransfer-Encoding: identity, Chunked;q=1";
    let text = format!("HTTP/1.1  200  OK\r\n{coded}\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    assert_eq!(read(&text).0.map(|reply| reply.outcome), Some(Outcome::Hit));
}

#[test]
fn what_is_refused_is_named() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (text, part) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello".into(), "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello".into(), "Content-Length"),
        ("HTTP/1.1 2x0 OK\r\n\r\n".into(), "a status line"),
        ("HELLO\r\n\r\n".into(), "a status line"),
        (format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(4097)), "4096 headers"),
        (format!("{chunked}x\r\nhello"), "a chunk"),
        (format!("{chunked}5\r\nhello!"), "a chunk"),
    ] {
        let (reply, statuses) = read(&text);
        assert_eq!(reply.map(|it| it.outcome), Some(Outcome::Garbled), "{text:.60}");
        assert!(statuses.len() == 1 && statuses[0].starts_with("refused: "), "{statuses:?}");
        assert!(statuses[0].contains(part), "{part} in {statuses:?}");
    }
}

#[test]
fn a_status_that_is_no_success_is_counted_by_its_number() {
    let protocol = set_up("http://h/", |job| job.expect_status = "200,304".into());
    let text = ["200", "404", "503", "304", "302", "503"]
        .map(|status| format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"))
        .concat();
    let got = replies(protocol.as_ref(), &[asked(GET, 0); 6], text.as_bytes(), &[]);
    assert_eq!(got.len(), 6);
    let wanted = [("HTTP 302", 1), ("HTTP 404", 1), ("HTTP 503", 2)];
    let wanted = wanted.map(|(name, count)| (name.to_string(), count)).into();
    assert_eq!(protocol.statuses().unwrap().counts(), wanted);
}

/// RFC 9110, 15.2.2: what follows is spoken in another protocol, and no other reply comes.
#[test]
fn a_change_of_protocols_that_was_not_asked_for_is_a_reply_that_failed() {
    let (reply, text) = read("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
    let wanted = Some(Reply { outcome: Outcome::Status, body_bytes: 0, last: true });
    assert_eq!((reply, text), (wanted, vec!["HTTP 101".to_string()]));
}

#[test]
fn trailers_may_be_as_long_as_heads() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n";
    let text = format!("{chunked}T: {}\r\nU: {}\r\n\r\n", "v".repeat(20_000), "v".repeat(20_000));
    assert_eq!(read(&text).0.map(|reply| reply.outcome), Some(Outcome::Hit));
}

/// RFC 9110, 15.5.9: 408 on a connection on which nothing was asked says that it ends.
#[test]
fn a_408_is_a_farewell_and_no_other_status_is() {
    let protocol = set_up("http://h/", |_| ());
    let decoder = protocol.decoder();
    for text in ["HTTP/1.0 408 Request Time-out\r\n", "HTTP/1.1 408\r\n\r\n"] {
        assert!(decoder.is_farewell(text.as_bytes()), "{text}");
    }
    for text in ["", "HTTP/1.1", "HTTP/1.1 40", "HTTP/1.1 200 OK\r\n", "SSH-2.0 408"] {
        assert!(!decoder.is_farewell(text.as_bytes()), "{text}");
    }
}

/// RFC 9110, 7.1: a fragment is the client's own.
#[test]
fn a_fragment_is_never_sent() {
    let mut out = Vec::new();
    let http = set_up("http://h/", |job| job.paths = vec!["/echo?x=1#frag".into()]);
    http.encode(asked(GET, 0), &mut out);
    assert!(out.starts_with(b"GET /echo?x=1 HTTP/1.1\r\nHost: h\r\n"), "{}", out.escape_ascii());
    let new = set_up("h2c://h/", |job| job.paths = vec!["/echo#frag".into()]);
    out.clear();
    new.encode(asked(GET, 0), &mut out);
    let has = |part: &[u8]| out.windows(part.len()).any(|it| it == part);
    assert!(has(b"/echo") && !has(b"frag"), "{}", out.escape_ascii());
}
