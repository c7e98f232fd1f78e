//! What is sent for a request, and when.

use super::*;

#[test]
fn a_request_is_a_head_and_a_body_of_one_stream() {
    let protocol = set_up("h2://h:81/", |job| {
        (job.method, job.items) = ("POST".into(), 50);
        job.paths = vec!["/{}/of".into()];
        job.header = vec!["X-Item: is {item}".into()];
        job.body = "item {item}".into();
    });
    let (mut decoder, mut message) = (protocol.decoder(), Vec::new());
    let asked = Asked { op: GET, item: 42, id: 7 };
    protocol.encode(asked, &mut message);
    decoder.interleaved().unwrap().begin(asked, &mut message);
    assert!(message.len() <= protocol.request_bytes_max());
    let [(head, block), (data, body)] = &read_frames(&message)[..] else { panic!("two frames") };
    assert_eq!((head.kind, head.flags, head.stream), (HEADERS, END_HEADERS, 1));
    assert_eq!((data.kind, data.flags, data.stream), (DATA, END_STREAM, 1));
    assert_eq!(body, b"item 42");
    let wanted = [
        ":method: POST",
        ":scheme: https",
        ":authority: h:81",
        ":path: /42/of",
        "user-agent: sojourn-load",
        "accept: */*",
        "x-item: is 42",
    ];
    assert_eq!(fields(block), wanted);
    let get = set_up("h2c://h/", |job| job.header = vec!["Host: other".into()]);
    let sent = read_frames(&Talk::of(get.as_ref(), 2).sent);
    assert_eq!(sent.iter().map(|it| it.0.stream).collect::<Vec<_>>(), [1, 3]);
    assert!(sent.iter().all(|it| it.0.flags == END_HEADERS | END_STREAM));
    assert_eq!(
        fields(&sent[0].1)[..4],
        [":method: GET", ":scheme: http", ":authority: other", ":path: /"]
    );
    let put = set_up("h2c://h/", |job| (job.method, job.body) = ("PUT".into(), "x".repeat(20_000)));
    let sent = read_frames(&Talk::of(put.as_ref(), 1).sent);
    assert!(fields(&sent[0].1).contains(&"content-length: 20000".to_string()));
    assert_eq!(sent.iter().map(|it| it.0.length).skip(1).collect::<Vec<_>>(), [16_384, 3_616]);
}

/// RFC 9113, 4.3.1. Node with `headerTableSize` 0 answers `COMPRESSION_ERROR` to a block without it.
#[test]
fn a_smaller_table_is_confirmed_once_by_the_next_block() {
    let protocol = set_up("h2c://h/", |_| ());
    let mut talk = Talk::of(protocol.as_ref(), 0);
    let block = |talk: &mut Talk, id: u32| {
        let (asked, mut message) = (Asked { op: GET, item: 0, id }, Vec::new());
        protocol.encode(asked, &mut message);
        talk.decoder.interleaved().unwrap().begin(asked, &mut message);
        assert!(message.len() <= protocol.request_bytes_max());
        read_frames(&message).swap_remove(0).1
    };
    let cases: [(&[u16], bool); 5] =
        [(&[4096], false), (&[65_535], false), (&[0], true), (&[100], true), (&[0, 4096], true)];
    for (sizes, is_due) in cases {
        talk.decoder.reset();
        let usual = block(&mut talk, 0);
        let mut frames = Frames::open();
        for size in sizes {
            let setting = [&[0_u8, 1, 0, 0][..], &size.to_be_bytes()].concat();
            frames = frames.frame(SETTINGS, 0, 0, &setting);
        }
        assert!(talk.hear(&frames.bytes).is_empty(), "{sizes:?}");
        let [first, second] = [block(&mut talk, 1), block(&mut talk, 2)];
        assert_eq!(first[0] >> 5 == 0b001, is_due, "{sizes:?}: an update of the table's size");
        assert_eq!(first[usize::from(is_due)..], usual, "{sizes:?}");
        assert_eq!(fields(&first), fields(&usual), "{sizes:?}");
        assert_eq!(second, usual, "{sizes:?}: once");
    }
}

#[test]
fn a_long_head_goes_on_in_further_frames() {
    let long = "y".repeat(40_000);
    let protocol = set_up("h2c://h/", |job| job.header = vec![format!("X: {long}")]);
    let sent = read_frames(&Talk::of(protocol.as_ref(), 1).sent);
    let kinds: Vec<(u8, u8)> = sent.iter().map(|it| (it.0.kind, it.0.flags)).collect();
    let more = (CONTINUATION, 0);
    assert_eq!(kinds, [(HEADERS, END_STREAM), more, (CONTINUATION, END_HEADERS)]);
    let block: Vec<u8> = sent.into_iter().flat_map(|it| it.1).collect();
    assert!(fields(&block).contains(&format!("x: {long}")));
}

#[test]
fn a_body_that_waits_for_its_window_goes_on_when_it_opens() {
    let post = |job: &mut Job| (job.method, job.body) = ("POST".into(), "b".repeat(70_000));
    let mut talk = Talk::of(set_up("h2c://h/", post).as_ref(), 1);
    let length = |frames: &[(Head, Vec<u8>)]| -> usize {
        frames.iter().filter(|it| it.0.kind == DATA).map(|it| it.0.length).sum()
    };
    assert_eq!(length(&read_frames(&talk.sent)), 65_535);
    let wide = Frames::open().frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0xff, 0]);
    talk.hear(&wide.bytes);
    assert_eq!(length(&talk.sent_beside()), 0, "its own is still closed");
    talk.hear(&Frames::default().frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0x11, 0x70]).bytes);
    let sent_beside = talk.sent_beside();
    assert_eq!(length(&sent_beside), 70_000 - 65_535);
    assert!(sent_beside.last().unwrap().0.has(END_STREAM));
    let early = Frames::default().head(1, &[(":status", "413")], END_STREAM);
    assert_eq!(talk.hear(&early.bytes).len(), 1);
    assert!(talk.sent_beside().is_empty(), "all was sent");
    let mut talk = Talk::of(set_up("h2c://h/", post).as_ref(), 1);
    talk.hear(&Frames::open().bytes);
    talk.sent_beside();
    assert_eq!(talk.hear(&early.bytes).len(), 1);
    let [(abandoned, _)] = &talk.sent_beside()[..] else { panic!("the rest is not sent") };
    assert_eq!((abandoned.kind, abandoned.stream), (RST_STREAM, 1));
}

#[test]
fn a_request_that_was_given_up_is_told_so_and_its_late_reply_is_no_fault() {
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 2);
    talk.hear(&Frames::open().bytes);
    talk.sent_beside();
    talk.decoder.interleaved().unwrap().cancel(0);
    let [(reset, error)] = &talk.sent_beside()[..] else { panic!("one frame") };
    assert_eq!((reset.kind, reset.stream, frames::number(error)), (RST_STREAM, 1, frames::CANCEL));
    let mut remembered = b"\x88\x40\x01a".to_vec(); // 200, and a field to be referred to
    push_int(0, 7, 1, &mut remembered);
    remembered.push(b'b');
    let late = Frames::default()
        .frame(HEADERS, END_HEADERS, 1, &remembered)
        .data(1, b"late", END_STREAM)
        .frame(HEADERS, END_HEADERS | END_STREAM, 3, b"\x88\xbe");
    let steps = talk.hear(&late.bytes);
    assert_eq!(steps.iter().map(|it| it.request).collect::<Vec<_>>(), [Some(1)]);
    assert_eq!(steps[0].reply.unwrap().outcome, Outcome::Hit);
}

#[test]
fn what_no_request_can_have_is_refused_by_name() {
    let at = |change: &dyn Fn(&mut Job)| {
        let mut job = Job { target: "h2c://h/".into(), ..Job::default() };
        change(&mut job);
        build(&job, &target("h2c://h/").unwrap()).err().map(|fault| fault.at)
    };
    assert_eq!(at(&|_| ()), None);
    let header = |text: &str| at(&|job: &mut Job| job.header = vec![text.into()]);
    for name in ["Connection: close", "Upgrade: h2c", "TE: trailers", "Transfer-Encoding: chunked"]
    {
        assert_eq!(header(name), Some("header".into()), "{name}");
    }
    assert_eq!(header(&format!("X: {}", "x".repeat(65_000))), None);
    assert_eq!(header(&format!("X: {}", "x".repeat(66_000))), Some("header".into()));
    for size in ["0", "2147483648", "x"] {
        let option = |job: &mut Job| drop(job.option.insert("window".into(), size.into()));
        assert_eq!(at(&option), Some("option window".into()), "{size}");
    }
}
