//! Replies without a length, with two, and those after which the server closes.

use super::*;

#[test]
fn two_lengths_that_differ_are_garbled() {
    let case = http();
    let read = |second: u8| {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: {second}\r\n\r\n");
        let mut decoder = case.protocol.decoder();
        let step = decoder.read(case.asked[0], format!("{head}hello").as_bytes());
        step.reply.map(|reply| reply.outcome)
    };
    assert_eq!(read(6), Some(Outcome::Garbled));
    assert_ne!(read(5), Some(Outcome::Garbled));
}

/// The reply to one request whose bytes are cut at `cut`, and after which the server closes.
fn closed_after(bytes: &[u8], cut: usize) -> Option<Reply> {
    let protocol = set_up("http://h/", |job| job.expect_bytes = 5);
    let mut decoder = protocol.decoder();
    for mut piece in [&bytes[..cut], &bytes[cut..]] {
        while !piece.is_empty() {
            let step = decoder.read(asked(GET, 0), piece);
            assert_eq!(step.reply, None, "its end is not known before the server closes");
            piece = &piece[step.used..];
        }
    }
    decoder.ended(asked(GET, 0))
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let hit = Some(Reply { outcome: Outcome::Hit, body_bytes: 5, last: false });
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: unchunked\r\n\r\n",
    ] {
        let bytes = [head, "hello"].concat().into_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(closed_after(&bytes, cut), hit, "{head}, cut at {cut}");
        }
        let short = closed_after(&bytes[..bytes.len() - 1], 0).map(|reply| reply.outcome);
        assert_eq!(short, Some(Outcome::Length));
    }
    for begun in ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "HTTP/1.1 200 OK\r\nX"] {
        assert_eq!(closed_after(begun.as_bytes(), 0), None, "cut short: {begun}");
    }
}

#[test]
fn long_heads_of_many_headers_are_read_at_any_split() {
    let protocol = set_up("http://h/", |_| ());
    let headers = format!("X: {}\r\n", "v".repeat(300)).repeat(200);
    let bytes = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\nok").into_bytes();
    let hit = [Reply { outcome: Outcome::Hit, body_bytes: 2, last: false }];
    let asked = [asked(GET, 0)];
    let buffers: Vec<usize> = (16 * 1024..bytes.len()).step_by(16 * 1024).collect();
    assert_eq!(buffers.len(), 3, "as io_uring hands it over");
    for cuts in [vec![], vec![1000], vec![bytes.len() - 3], buffers] {
        assert_eq!(replies(protocol.as_ref(), &asked, &bytes, &cuts), hit, "{cuts:?}");
    }
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'v'; 300 * 1024]].concat();
    let got = replies(protocol.as_ref(), &asked, &endless, &[200_000]);
    assert_eq!(got[0].outcome, Outcome::Garbled, "a head that never ends is given up");
}

#[test]
fn a_closing_reply_says_so() {
    let case = http();
    let got = replies(case.protocol.as_ref(), &case.asked, &case.bytes, &[]);
    let last: Vec<bool> = got.iter().map(|reply| reply.last).collect();
    assert_eq!(last, [false, false, false, false, false, false, true]);
}
