//! Streams of frames as a server sends them, what each request comes to, and what is said in return.

use super::frames::{
    self, ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEAD, HEADERS, Head, PADDED,
    PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::hpack::{Reader, push_field, push_int};
use super::*;
use crate::protocols::Outcome;
use crate::protocols::tests::Case;
use crate::protocols::{GET, Step, build, target};

pub(in crate::protocols) fn set_up(to: &str, change: impl FnOnce(&mut Job)) -> Arc<dyn Protocol> {
    let mut job = Job { target: to.into(), items: 50, ..Job::default() };
    change(&mut job);
    build(&job, &target(to).unwrap()).unwrap()
}

/// Requests for the same path, each with a number of its own.
pub(in crate::protocols) fn requests(count: u32) -> Vec<Asked> {
    (0..count).map(|id| Asked { op: GET, item: 0, id }).collect()
}

/// Frames one after another.
#[derive(Default)]
pub(in crate::protocols) struct Frames {
    pub(in crate::protocols) bytes: Vec<u8>,
}

impl Frames {
    /// What a server says first.
    pub(in crate::protocols) fn open() -> Self {
        Self::default().frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])
    }

    pub(in crate::protocols) fn frame(
        mut self,
        kind: u8,
        flags: u8,
        id: u32,
        payload: &[u8],
    ) -> Self {
        frames::push(kind, flags, id, payload, &mut self.bytes);
        self
    }

    pub(in crate::protocols) fn data(self, id: u32, text: &[u8], flags: u8) -> Self {
        self.frame(DATA, flags, id, text)
    }

    /// Headers in one frame.
    pub(in crate::protocols) fn head(self, id: u32, fields: &[(&str, &str)], flags: u8) -> Self {
        self.frame(HEADERS, END_HEADERS | flags, id, &block(fields))
    }
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        push_field(name, value, &mut block);
    }
    block
}

pub(in crate::protocols) fn case() -> Case {
    let status = |code| [(":status", code), ("server", "made up")];
    let busy = block(&status("503"));
    let prior = [&[0, 0, 0, 0, 16][..], &block(&status("200"))[..]].concat();
    let frames = Frames::open()
        .head(1, &status("200"), 0)
        .head(3, &status("200"), 0)
        .data(1, b"hel", 0)
        .data(3, b"\x03hello---", PADDED | END_STREAM)
        .frame(PING, 0, 0, b"what now")
        .data(1, b"", 0)
        .data(1, b"lo", END_STREAM)
        .head(5, &status("404"), END_STREAM)
        .head(7, &[(":status", "103")], 0)
        .frame(HEADERS, END_STREAM, 7, &busy[..4])
        .frame(CONTINUATION, 0, 7, &busy[4..7])
        .frame(CONTINUATION, END_HEADERS, 7, &busy[7..])
        .frame(SETTINGS, ACK, 0, b"")
        .frame(0xfa, 0xff, 5, b"nobody knows")
        .head(9, &status("200"), 0)
        .data(9, b"four", END_STREAM)
        .frame(RST_STREAM, 0, 11, &[0, 0, 0, 7])
        .frame(HEADERS, END_HEADERS | PRIORITY, 13, &prior)
        .data(13, b"hello", 0)
        .head(13, &[("checksum", "none")], END_STREAM)
        .frame(WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0])
        .frame(GOAWAY, 0, 0, b"\0\0\0\x0f\0\0\0\0bye")
        .head(15, &status("200"), 0)
        .data(15, b"hello", END_STREAM);
    let hit = Outcome::Hit;
    Case {
        protocol: set_up("h2c://h/", |job| job.expect_bytes = 5),
        asked: requests(8),
        bytes: frames.bytes,
        outcomes: vec![
            hit,
            hit,
            Outcome::Miss,
            Outcome::Status,
            Outcome::Length,
            Outcome::Status,
            hit,
            hit,
        ],
    }
}

/// A connection with `count` requests on it, and what was sent for them.
struct Talk {
    decoder: Box<dyn Decoder>,
    sent: Vec<u8>,
}

impl Talk {
    fn of(protocol: &dyn Protocol, count: u32) -> Self {
        let mut decoder = protocol.decoder();
        let mut sent = Vec::new();
        for asked in requests(count) {
            let mut message = Vec::new();
            protocol.encode(asked, &mut message);
            decoder.interleaved().unwrap().begin(asked, &mut message);
            sent.extend(message);
        }
        Self { decoder, sent }
    }

    fn hear(&mut self, bytes: &[u8]) -> Vec<Step> {
        let (mut steps, mut at) = (Vec::new(), 0);
        loop {
            let step = self.decoder.read(Asked::default(), &bytes[at..]);
            at += step.used;
            let is_all = step.used == 0 && step.reply.is_none();
            steps.extend((step.reply.is_some()).then_some(step));
            if is_all || (step.request.is_none() && step.reply.is_some()) {
                return steps;
            }
        }
    }

    fn said(&mut self) -> Vec<(Head, Vec<u8>)> {
        let mut bytes = Vec::new();
        self.decoder.interleaved().unwrap().say(&mut bytes);
        read_frames(bytes.strip_prefix(frames::PREFACE).unwrap_or(&bytes))
    }

    fn room(&mut self) -> (u32, bool) {
        let it = self.decoder.interleaved().unwrap();
        (it.room(), it.is_over())
    }
}

fn read_frames(mut bytes: &[u8]) -> Vec<(Head, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(head) = bytes.first_chunk::<HEAD>() {
        let head = Head::read(head);
        let end = HEAD + head.length;
        all.push((head, bytes[HEAD..end].to_vec()));
        bytes = &bytes[end..];
    }
    assert!(bytes.is_empty());
    all
}

fn fields(block: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let read = Reader::new().read(block, &mut |name, value| {
        all.push(format!("{}: {}", text(name), text(value)));
    });
    read.map(|()| all).unwrap()
}

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
fn a_connection_has_room_once_the_server_has_spoken_and_as_much_as_it_says() {
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 0);
    let said = talk.said();
    let kinds: Vec<u8> = said.iter().map(|it| it.0.kind).collect();
    assert_eq!(kinds, [SETTINGS, WINDOW_UPDATE]);
    assert_eq!(frames::settings(&said[0].1).collect::<Vec<_>>(), [(2, 0), (4, 16 << 20)]);
    assert_eq!(talk.room(), (0, false));
    assert!(talk.hear(&Frames::open().bytes).is_empty());
    assert_eq!(talk.room(), (100, false));
    let [(answer, _)] = &talk.said()[..] else { panic!("one frame") };
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
    let ok = [(":status", "200")];
    let rest = Frames::default().head(1, &ok, END_STREAM).head(3, &ok, END_STREAM);
    assert_eq!(talk.hear(&rest.bytes).len(), 2);
    assert_eq!(talk.room(), (0, true));
    talk.decoder.reset();
    talk.hear(&Frames::open().bytes);
    assert_eq!(talk.room(), (100, false), "a new connection");
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
    assert_eq!(protocol.said().unwrap().counts(), wanted);
}

#[test]
fn what_is_received_is_told_before_the_window_is_used_up() {
    let window = |job: &mut Job| drop(job.option.insert("window".into(), "1000".into()));
    let mut talk = Talk::of(set_up("h2c://h/", window).as_ref(), 1);
    assert_eq!(talk.said().len(), 1, "the window of all is never less than 65 535");
    let opened = Frames::open().head(1, &[(":status", "200")], 0);
    talk.hear(&opened.data(1, &[0; 499], 0).bytes);
    talk.said();
    talk.hear(&Frames::default().data(1, b"x", 0).bytes);
    let told = |talk: &mut Talk| -> Vec<(u32, u32)> {
        talk.said().iter().map(|it| (it.0.stream, frames::number(&it.1))).collect()
    };
    assert_eq!(told(&mut talk), [(1, 500)]);
    for _ in 0..66 {
        talk.hear(&Frames::default().data(1, &[0; 490], 0).bytes);
    }
    assert!(told(&mut talk).contains(&(0, 500 + 66 * 490)), "half of 65 535");
    assert_eq!(
        talk.hear(&Frames::default().data(1, b"", END_STREAM).bytes)[0].reply.unwrap().body_bytes,
        32_840
    );
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
    assert_eq!(length(&talk.said()), 0, "its own is still closed");
    talk.hear(&Frames::default().frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0x11, 0x70]).bytes);
    let said = talk.said();
    assert_eq!(length(&said), 70_000 - 65_535);
    assert!(said.last().unwrap().0.has(END_STREAM));
    let early = Frames::default().head(1, &[(":status", "413")], END_STREAM);
    assert_eq!(talk.hear(&early.bytes).len(), 1);
    assert!(talk.said().is_empty(), "all was sent");
    let mut talk = Talk::of(set_up("h2c://h/", post).as_ref(), 1);
    talk.hear(&Frames::open().bytes);
    talk.said();
    assert_eq!(talk.hear(&early.bytes).len(), 1);
    let [(given_up, _)] = &talk.said()[..] else { panic!("the rest is not sent") };
    assert_eq!((given_up.kind, given_up.stream), (RST_STREAM, 1));
}

/// A body that is cut off comes sooner than a whole one: it is no success.
#[test]
fn a_body_that_is_shorter_than_its_head_says_is_none() {
    for (length, wanted) in [("5", Outcome::Hit), ("6", Outcome::Garbled), ("4", Outcome::Garbled)]
    {
        let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 2);
        let head = [(":status", "200"), ("content-length", length)];
        let steps =
            talk.hear(&Frames::open().head(1, &head, 0).data(1, b"hello", END_STREAM).bytes);
        assert_eq!(steps[0].reply.unwrap().outcome, wanted, "{length}");
        let next = Frames::default().head(3, &[(":status", "200")], END_STREAM);
        assert_eq!(talk.hear(&next.bytes).len(), 1, "the connection goes on");
    }
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
    talk.said();
}

#[test]
fn a_request_that_was_given_up_is_told_so_and_its_late_reply_is_no_fault() {
    let mut talk = Talk::of(set_up("h2c://h/", |_| ()).as_ref(), 2);
    talk.hear(&Frames::open().bytes);
    talk.said();
    talk.decoder.interleaved().unwrap().cancel(0);
    let [(told, error)] = &talk.said()[..] else { panic!("one frame") };
    assert_eq!((told.kind, told.stream, frames::number(error)), (RST_STREAM, 1, frames::CANCEL));
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
fn what_no_server_may_say_ends_the_connection() {
    let ok = [(":status", "200")];
    let opened = || Frames::open().head(1, &ok, 0);
    let wrong = [
        ("no settings first", Frames::default().head(1, &ok, 0)),
        ("a push", opened().frame(5, END_HEADERS, 1, &[0, 0, 0, 2])),
        ("a stream that nobody opened", opened().head(5, &ok, 0)),
        ("a body of one", opened().data(2, b"x", 0)),
        ("a body before its head", Frames::open().data(1, b"x", END_STREAM)),
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
        let said = protocol.said().unwrap().counts();
        assert_eq!(
            said,
            [("refused: a frame that a server of HTTP/2 may not send".into(), 1)].into()
        );
    }
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
