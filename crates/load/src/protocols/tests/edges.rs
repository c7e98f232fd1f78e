//! Where a reply ends, what may not follow what, and how much of each may come.

use super::*;

/// How the reply to `asked` ended, all of `bytes` at once and byte by byte; `None`: it did not.
fn outcome(protocol: &dyn Protocol, asked: Asked, bytes: &[u8]) -> Option<Outcome> {
    let every: Vec<usize> = (0..bytes.len()).collect();
    let of = |cuts: &[usize]| {
        replies(protocol, &[asked], bytes, cuts).first().map(|reply| reply.outcome)
    };
    let whole = of(&[]);
    assert_eq!(of(&every), whole, "byte by byte: {}", bytes.escape_ascii());
    whole
}

/// Bytes of each body; no reply ends before its last byte.
#[test]
fn bodies_are_counted_and_replies_end_with_their_last_byte() {
    let wanted: [(&str, &[u32]); 8] = [
        ("memcache", &[200, 0, 0, 200, 5, 0, 400, 600, 0]),
        ("http", &[5, 5, 3, 0, 4, 0, 5]),
        ("http2", &[5, 5, 0, 0, 4, 0, 5, 5]),
        ("grpc", &[5, 0, 0, 0, 5, 0, 5, 15, 0]),
        ("resp", &[200, 0, 0, 0, 200, 0, 0]),
        ("postgres", &[5, 5, 0, 0, 5, 5, 5]),
        ("echo", &[200, 200, 200]),
        ("null", &[0, 0, 0]),
    ];
    for ((name, case), (of, wanted)) in cases().into_iter().zip(wanted) {
        assert_eq!(name, of);
        let got = replies(case.protocol.as_ref(), &case.asked, &case.bytes, &[]);
        assert_eq!(got.iter().map(|reply| reply.body_bytes).collect::<Vec<_>>(), wanted, "{name}");
    }
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nT: 1\r\nU: 22\r\n\r\n";
    let http = set_up("http://h/", |job| job.expect_bytes = 26);
    for end in 1..=chunked.len() {
        let wanted = (end == chunked.len()).then_some(Outcome::Hit);
        assert_eq!(outcome(http.as_ref(), asked(GET, 0), &chunked[..end]), wanted, "{end}");
    }
}

/// A connection that is opened again begins with a whole reply, whatever the old one broke off in.
#[test]
fn what_was_begun_on_an_old_connection_is_forgotten() {
    for (name, case) in cases() {
        let mut decoder = case.protocol.decoder();
        let whole = replies(case.protocol.as_ref(), &case.asked, &case.bytes, &[]);
        let begin = |decoder: &mut dyn Decoder| {
            let Some(it) = decoder.interleaved() else { return };
            let message = |asked| message(case.protocol.as_ref(), asked);
            case.asked.iter().for_each(|&asked| it.begin(asked, &mut message(asked)));
        };
        begin(decoder.as_mut());
        for cut in [1, 13, 50] {
            let mut left = &case.bytes[..cut.min(case.bytes.len() - 1)];
            while name != "null" && !left.is_empty() {
                let step = decoder.read(case.asked[0], left);
                left = &left[step.used..];
                if step.reply.is_some() {
                    break;
                }
            }
            decoder.reset();
            begin(decoder.as_mut());
            let (mut at, mut got) = (0, None);
            while got.is_none() && at < case.bytes.len() {
                let step = decoder.read(case.asked[0], &case.bytes[at..]);
                (at, got) = (at + step.used, step.reply);
            }
            assert_eq!(got, Some(whole[0]), "{name}, cut at {cut}");
        }
    }
}

#[test]
fn memcache_replies_that_do_not_fit_the_request_are_garbled() {
    let value_of = |item: u32| format!("VALUE {} 0 200\r\n{}\r\n", key(item), value(item));
    let protocol = set_up("memcache://h", |job| {
        (job.multiget_share, job.multiget_keys) = (0.5, 2);
    });
    let of = |op, text: &str| outcome(protocol.as_ref(), asked(op, 3), text.as_bytes());
    let garbled = Some(Outcome::Garbled);
    for text in ["HELLO\r\n", "STORED\r\n", "VALUE \r\n", &format!("VALUE {} 0 x\r\n", key(3))] {
        assert_eq!(of(GET, text), garbled, "{text}");
    }
    assert_eq!(of(SET, "END\r\n"), garbled);
    assert_eq!(of(GET, &value_of(4)), garbled, "another key");
    assert_eq!(of(GET, &(value_of(3) + &value_of(4))), garbled, "one more than asked for");
    let reversed = value_of(4) + &value_of(3) + "END\r\n";
    assert_eq!(of(MULTIGET, &reversed), Some(Outcome::Hit), "no order is promised");
    assert_eq!(of(MULTIGET, &(value_of(4) + &value_of(4))), garbled, "one comes twice");
    assert_eq!(of(MULTIGET, &(value_of(4) + &value_of(5))), garbled, "another key");
    assert_eq!(of(MULTIGET, &(value_of(4) + "END\r\n")), Some(Outcome::Miss));
    let cut = format!("VALUE {} 0 200\r\n{}XX", key(3), value(3));
    assert_eq!(of(GET, &cut), garbled, "no line's end after the body");
    for error in ["ERROR", "CLIENT_ERROR bad", "SERVER_ERROR out", "NOT_STORED"] {
        assert_eq!(of(SET, &format!("{error}\r\n")), Some(Outcome::Status), "{error}");
    }
    let endless = "x".repeat(1000);
    assert_eq!(of(GET, &endless), garbled, "no line is that long");
    let keys_of_250 = set_up("memcache://h", |job| job.key_size = "250".into());
    let long = format!("VALUE {:0>250} 4294967295 200 18446744073709551615\r\n", 3);
    let hit = format!("{long}{}\r\nEND\r\n", value(3));
    let got = outcome(keys_of_250.as_ref(), asked(GET, 3), hit.as_bytes());
    assert_eq!(got, Some(Outcome::Hit), "the longest line there is");
}

#[test]
fn resp_replies_that_do_not_fit_the_request_are_garbled() {
    let protocol = set_up("resp://h", |_| ());
    let of = |op, text: &str| outcome(protocol.as_ref(), asked(op, 3), text.as_bytes());
    for (op, text) in [
        (GET, "+OK\r\n"),
        (SET, "$-1\r\n"),
        (GET, "$x\r\n"),
        (GET, "hello\r\n"),
        (GET, &format!("$200\r\n{}XX", value(3))),
        (GET, &"-".repeat(1000)),
    ] {
        assert_eq!(of(op, text), Some(Outcome::Garbled), "{text}");
    }
    let error = format!("-{}\r\n", "e".repeat(510));
    assert_eq!(of(GET, &error), Some(Outcome::Status), "511 and the carriage return");
}

#[test]
fn echo_frames_of_another_id_are_garbled_and_of_another_length_counted() {
    let protocol = set_up("echo://h", |job| job.value_size = "0".into());
    let of = |id: u64, len: u32| {
        let frame = [&id.to_be_bytes()[..], &len.to_be_bytes(), &vec![b'x'; len.min(3) as usize]];
        outcome(protocol.as_ref(), asked(GET, 9), &frame.concat())
    };
    assert_eq!(of(9, 0), Some(Outcome::Hit), "a body of 0 bytes is complete with the header");
    assert_eq!(of(9, 3), Some(Outcome::Length));
    assert_eq!((of(8, 0), of(9 + (1 << 32), 0)), (Some(Outcome::Garbled), Some(Outcome::Garbled)));
    assert_eq!((of(9, 64 << 20), of(9, (64 << 20) + 1)), (None, Some(Outcome::Garbled)), "64 MiB");
    let null = set_up("null:", |_| ());
    assert_eq!(outcome(null.as_ref(), asked(GET, 0), &[1]), Some(Outcome::Garbled));
}

#[test]
fn chunks_are_read_as_the_rfc_says_and_no_further() {
    let of = |body: &str| {
        let protocol = set_up("http://h/", |job| job.expect_bytes = 5);
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n{body}");
        outcome(protocol.as_ref(), asked(GET, 0), text.as_bytes())
    };
    let hit = |size: &str| format!("{size}\r\nhello\r\n0\r\n\r\n");
    for size in ["5", "5 ", "5\t", "5;a=b", "0000000000000000000005"] {
        assert_eq!(of(&hit(size)), Some(Outcome::Hit), "{size}");
    }
    for size in ["", "5;a\n", "x", "-5", "fffffffffffffffff"] {
        assert_eq!(of(&hit(size)), Some(Outcome::Garbled), "{size}");
    }
    assert_eq!(of("5;a\nhello\n0\n\n"), Some(Outcome::Hit), "no carriage returns");
    for body in ["5\r\r", "5\r\nhello!", "5\r\nhello\r\r"] {
        assert_eq!(of(body), Some(Outcome::Garbled), "{body}");
    }
    let trailer = |bytes| of(&format!("5\r\nhello\r\n0\r\n{}\r\n\r\n", "t".repeat(bytes)));
    let most = 256 * 1024; // as of a head
    assert_eq!((trailer(most), trailer(most + 1)), (Some(Outcome::Hit), Some(Outcome::Garbled)));
}

#[test]
fn heads_say_when_a_body_ends_and_when_the_connection_does() {
    let read = |version: &str, status: &str, header: &str, rest: &str| {
        let protocol = set_up("http://h/", |job| job.expect_bytes = 5);
        let text = format!("HTTP/1.{version} {status} X\r\n{header}\r\n\r\n{rest}");
        let asked = [asked(GET, 0)];
        replies(protocol.as_ref(), &asked, text.as_bytes(), &[]).first().copied()
    };
    let is_last = |version, header: &str| {
        let header = format!("Content-Length: 5\r\n{header}");
        read(version, "200", &header, "hello").unwrap().last
    };
    for (version, header, last) in [
        ("1", "Connection: keep-alive", false),
        ("1", "Connection: upgrade", false),
        ("1", "Connection: Close", true),
        ("0", "A: b", true),
        ("0", "Connection: Keep-Alive", false),
        ("0", "Connection: upgrade", true),
        ("0", "Connection: close", true),
    ] {
        assert_eq!(is_last(version, header), last, "HTTP/1.{version}, {header}");
    }
    let outcome = |status, header, rest| read("1", status, header, rest).map(|reply| reply.outcome);
    assert_eq!(outcome("200", "Content-Length: x", "hello"), Some(Outcome::Garbled));
    assert_eq!(outcome("200", "Content-Length: -5", "hello"), Some(Outcome::Garbled));
    assert_eq!(outcome("304", "Content-Length: 5", ""), Some(Outcome::Status), "has no body");
    assert_eq!(outcome("410", "Content-Length: 5", "hello"), Some(Outcome::Miss));
    let both = "Content-Length: 9\r\nTransfer-Encoding: chunked";
    assert_eq!(
        outcome("200", both, "5\r\nhello\r\n0\r\n\r\n"),
        Some(Outcome::Hit),
        "RFC 9112, 6.3"
    );
    assert_eq!(outcome("200", "X: chunked\r\nContent-Length: 5", "hello"), Some(Outcome::Hit));
}

#[test]
fn a_head_in_one_piece_may_be_of_256_kib_and_no_more() {
    let protocol = set_up("http://h/", |_| ());
    let of = |bytes: usize| {
        let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        head.resize(bytes, b'v');
        let step = protocol.decoder().read(asked(GET, 0), &head);
        step.reply.map(|reply| reply.outcome)
    };
    assert_eq!((of(256 * 1024), of(256 * 1024 + 1)), (None, Some(Outcome::Garbled)));
}

#[test]
fn a_datagram_is_told_by_its_first_two_bytes_if_any_more_come_than_its_frame() {
    assert_eq!(datagram_id(&[1, 2, 0, 0, 0, 1, 0, 0]), None, "nothing in it");
    assert_eq!(datagram_id(&[1, 2, 0, 0, 0, 1, 0, 0, b'E']), Some(0x102));
    assert_eq!(datagram_id(&[]), None);
}

/// Three datagrams: the second is lost, so the third says nothing; all three in order are a hit.
#[test]
fn a_reply_that_lost_a_datagram_never_ends() {
    let protocol = set_up("memcache+udp://h", |_| ());
    let text = format!("VALUE {} 0 200\r\n{}\r\nEND\r\n", key(9), value(9));
    let part = |sequence: usize| {
        let bytes = &text.as_bytes()[sequence * 90..text.len().min(sequence * 90 + 90)];
        [&[0, 9, 0, sequence as u8, 0, 3, 0, 0], bytes].concat()
    };
    let read = |parts: &[usize]| {
        let mut decoder = protocol.decoder();
        let steps = parts.iter().map(|&at| decoder.read(asked(GET, 9), &part(at)).reply);
        steps.map(|reply| reply.map(|it| it.outcome)).collect::<Vec<_>>()
    };
    assert_eq!(read(&[0, 1, 2]), [None, None, Some(Outcome::Hit)]);
    assert_eq!(read(&[0, 2]), [None, None]);
    assert_eq!(read(&[1, 0, 1, 2]), [None, None, None, Some(Outcome::Hit)]);
}
