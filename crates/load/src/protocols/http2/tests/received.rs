//! What a server's frames come to.

use super::*;

#[test]
fn a_connection_has_room_once_the_server_has_spoken_and_as_much_as_it_says() {
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 0);
    let sent_beside = talk.sent_beside();
    let kinds: Vec<u8> = sent_beside.iter().map(|it| it.0.kind).collect();
    assert_eq!(kinds, [SETTINGS, WINDOW_UPDATE]);
    assert_eq!(frames::settings(&sent_beside[0].1).collect::<Vec<_>>(), [(2, 0), (4, 16 << 20)]);
    assert_eq!(talk.room(), (0, false));
    assert!(talk.hear(&Frames::open().bytes).is_empty());
    assert_eq!(talk.room(), (100, false));
    let [(answer, _)] = &talk.sent_beside()[..] else { panic!("one frame") };
    assert_eq!((answer.kind, answer.flags), (SETTINGS, ACK));
    talk.hear(&Frames::default().frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 2]).bytes);
    assert_eq!(talk.room().0, 2);
    talk.hear(&Frames::default().frame(SETTINGS, 0, 0, b"").bytes);
    assert_eq!(talk.room().0, 2, "a setting holds until another is made");
    talk.hear(&Frames::default().frame(GOAWAY, 0, 0, &[0; 8]).bytes);
    assert_eq!(talk.room(), (0, true));
    let unlimited = Frames::default().frame(SETTINGS, 0, 0, b"").bytes;
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 0);
    talk.hear(&unlimited);
    assert_eq!(talk.room(), (u32::MAX, false));
}

#[test]
fn a_server_that_goes_away_answers_what_it_has_begun_and_returns_the_rest_once() {
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 4);
    let returned = |talk: &mut Talk| talk.decoder.interleaved().unwrap().returned();
    assert_eq!(returned(&mut talk), None);
    let away = Frames::open().frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]);
    assert!(talk.hear(&away.bytes).is_empty(), "none of them has ended");
    let unseen = [returned(&mut talk), returned(&mut talk), returned(&mut talk)];
    assert_eq!(unseen, [Some(3), Some(2), None]);
    assert_eq!(talk.room(), (0, false));
    assert!(talk.decoder.interleaved().unwrap().is_leaving(), "it owes two replies");
    let ok = [(":status", "200")];
    let rest = Frames::default().head(1, &ok, END_STREAM).head(3, &ok, END_STREAM);
    assert_eq!(talk.hear(&rest.bytes).len(), 2);
    assert_eq!(talk.room(), (0, true));
    talk.decoder.reset();
    talk.hear(&Frames::open().bytes);
    assert_eq!(talk.room(), (100, false), "a new connection");
    assert!(!talk.decoder.interleaved().unwrap().is_leaving());
}

#[test]
fn a_server_that_goes_away_in_anger_is_counted_with_its_error() {
    let protocol = set_up("h2c://h/", |_| ());
    for error in [0, 11, 99] {
        let frames = Frames::open().frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, error]);
        Talk::of(protocol.as_ref(), 1).hear(&frames.bytes);
    }
    let wanted = [("GOAWAY ENHANCE_YOUR_CALM", 1), ("GOAWAY of another number", 1)];
    let wanted = wanted.map(|(name, count)| (name.to_string(), count)).into();
    assert_eq!(protocol.statuses().unwrap().counts(), wanted);
}

#[test]
fn what_is_received_is_reported_before_the_window_is_used_up() {
    let window = |job: &mut Job| drop(job.option.insert("window".into(), "1000".into()));
    let mut talk = Talk::of(set_up("h2c://h/", window).as_ref(), 1);
    assert_eq!(talk.sent_beside().len(), 1, "the window of all is never less than 65 535");
    let opened = Frames::open().head(1, &[(":status", "200")], 0);
    talk.hear(&opened.data(1, &[0; 499], 0).bytes);
    talk.sent_beside();
    talk.hear(&Frames::default().data(1, b"x", 0).bytes);
    let opened = |talk: &mut Talk| -> Vec<(u32, u32)> {
        talk.sent_beside().iter().map(|it| (it.0.stream, frames::number(&it.1))).collect()
    };
    assert_eq!(opened(&mut talk), [(1, 500)]);
    for _ in 0..66 {
        talk.hear(&Frames::default().data(1, &[0; 490], 0).bytes);
    }
    assert!(opened(&mut talk).contains(&(0, 500 + 66 * 490)), "half of 65 535");
    assert_eq!(
        talk.hear(&Frames::default().data(1, b"", END_STREAM).bytes)[0].reply.unwrap().body_bytes,
        32_840
    );
}

/// A body that is cut off comes sooner than a whole one: it is no success.

#[test]
fn a_body_that_is_shorter_than_its_head_says_is_none() {
    let (hit, garbled) = (Outcome::Hit, Outcome::Garbled);
    for (length, again, wanted) in [
        ("5", "5", hit),
        ("5, 5", "5", hit),
        ("6", "6", garbled),
        ("4", "4", garbled),
        ("5", "6", garbled),
        ("5, 6", "5", garbled),
        ("five", "5", garbled),
        ("99999999999999999999", "5", garbled),
    ] {
        let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 2);
        let head = [(":status", "200"), ("content-length", length), ("content-length", again)];
        let steps =
            talk.hear(&Frames::open().head(1, &head, 0).data(1, b"hello", END_STREAM).bytes);
        assert_eq!(steps[0].reply.unwrap().outcome, wanted, "{length} and {again}");
        let next = Frames::default().head(3, &[(":status", "200")], END_STREAM);
        assert_eq!(talk.hear(&next.bytes).len(), 1, "the connection goes on");
    }
}

#[test]
fn a_reply_without_a_body_is_one_of_the_sample() {
    let protocol = set_up("h2c://h/", |job| job.expect_regex = "^hello$".into());
    let ok = [(":status", "200")];
    let frames = Frames::open().head(1, &ok, 0).data(1, b"hello", END_STREAM);
    let frames = frames.head(3, &ok, END_STREAM);
    assert_eq!(Talk::of(protocol.as_ref(), 2).hear(&frames.bytes).len(), 2);
    let looked = protocol.sampled().unwrap().look();
    assert_eq!((looked.checked, looked.failed["expect_regex"]), (2, 1));
}

/// Answers wait for a server that reads none of them, and fill the memory.
#[test]
fn a_server_that_wants_answers_without_end_is_left() {
    let pings = |count| Frames::default().frame(PING, 0, 0, &[0; 8]).bytes.repeat(count);
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 2);
    assert!(talk.hear(&Frames::open().bytes).is_empty());
    assert!(talk.hear(&pings(9_999)).is_empty());
    let reply = Frames::default().head(1, &[(":status", "200")], END_STREAM);
    assert_eq!(talk.hear(&reply.bytes).len(), 1);
    assert!(talk.hear(&pings(10_000)).is_empty(), "counted from the last reply on");
    assert_eq!(talk.hear(&pings(1))[0].reply.unwrap().outcome, Outcome::Garbled);
}

/// A window that opens after it would cut what waits into frames of nothing.

#[test]
fn frames_of_no_length_are_refused_and_never_made() {
    let post = |job: &mut Job| (job.method, job.body) = ("POST".into(), "x".repeat(70_000));
    let mut talk = Talk::of(set_up("h2c://h/", post).as_ref(), 1);
    let steps = talk.hear(&Frames::open().frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 0]).bytes);
    assert_eq!(steps[0].reply.unwrap().outcome, Outcome::Garbled);
    talk.hear(&Frames::default().frame(WINDOW_UPDATE, 0, 0, &[0, 1, 0, 0]).bytes);
    talk.hear(&Frames::default().frame(WINDOW_UPDATE, 0, 1, &[0, 1, 0, 0]).bytes);
    talk.sent_beside();
}

#[test]
fn what_no_server_may_say_ends_the_connection() {
    let ok = [(":status", "200")];
    let opened = || Frames::open().head(1, &ok, 0);
    let wrong = [
        ("no settings first", Frames::default().head(1, &ok, 0)),
        ("a push", opened().frame(5, END_HEADERS, 1, &[0, 0, 0, 2])),
        ("a stream that nobody opened", opened().head(5, &ok, 0)),
        ("a body of one", opened().data(2, b"x", 0)),
        ("a body before its head", Frames::open().data(1, b"x", END_STREAM)),
        ("a part of it", Frames::open().data(1, b"x", 0)),
        ("more padding than there is", opened().data(1, b"\x04abc", PADDED)),
        (
            "another frame within a block",
            Frames::open().frame(HEADERS, 0, 1, b"\x88").data(1, b"x", 0),
        ),
        ("no window", opened().frame(WINDOW_UPDATE, 0, 1, &[0; 4])),
        ("a head twice", opened().head(1, &ok, 0)),
        ("trailers that are not the end", opened().head(1, &[("a", "b")], 0)),
        ("settings of half a setting", opened().frame(SETTINGS, 0, 0, &[0, 3, 0])),
        ("a ping of a stream", opened().frame(PING, 0, 1, &[0; 8])),
        ("a frame too long", opened().frame(0xfa, 0, 1, &vec![0; 16_385])),
        ("no code", Frames::open().frame(HEADERS, END_HEADERS, 1, &[0xff; 9])),
        ("a status of letters", Frames::open().head(1, &[(":status", "fine")], 0)),
        ("HTTP/1.1", Frames { bytes: b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec() }),
    ];
    for (what, frames) in wrong {
        let protocol = set_up("h2c://h/", |_| ());
        let steps = Talk::of(protocol.as_ref(), 2).hear(&frames.bytes);
        let last = steps.last().map(|it| (it.request, it.reply.unwrap().outcome));
        assert_eq!(last, Some((None, Outcome::Garbled)), "{what}");
        let statuses = protocol.statuses().unwrap().counts();
        assert_eq!(
            statuses,
            [("refused: a frame that a server of HTTP/2 may not send".into(), 1)].into()
        );
    }
}
