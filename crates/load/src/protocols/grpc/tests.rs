//! Replies to calls, what each comes to, and what is sent for one.

use super::*;
use crate::protocols::Outcome;
use crate::protocols::http2::tests::{Frames, requests, set_up};
use crate::protocols::tests::Case;
use crate::protocols::{GET, build, target};

const END_STREAM: u8 = 1;
const METHOD: &str = "grpc://h/a.Greeter/Hello";

fn message(text: &[u8]) -> Vec<u8> {
    [&[0][..], &(text.len() as u32).to_be_bytes(), text].concat()
}

pub(in crate::protocols) fn case() -> Case {
    let ok = [(":status", "200"), ("content-type", "application/grpc")];
    let status = |code| [("grpc-status", code), ("grpc-message", "so it is")];
    let trailers_only = |code| [ok[0], ok[1], ("grpc-status", code)];
    let hello = message(b"hello");
    let frames = Frames::open()
        .head(1, &ok, 0)
        .data(1, &hello, 0)
        .head(1, &status("0"), END_STREAM)
        .head(3, &trailers_only("12"), END_STREAM)
        .head(5, &trailers_only("0"), END_STREAM)
        .head(7, &ok, 0)
        .head(9, &ok, 0)
        .data(7, &hello[..3], 0)
        .data(9, &message(b""), 0)
        .data(7, &hello[3..], 0)
        .head(9, &status("0"), END_STREAM)
        .head(7, &status("14"), END_STREAM)
        .head(11, &[(":status", "502")], END_STREAM)
        .head(13, &ok, 0)
        .data(13, &hello, END_STREAM)
        .head(15, &ok, 0)
        .data(15, &[&hello[..], &hello].concat(), 0)
        .head(15, &status("0"), END_STREAM)
        .head(17, &trailers_only("x"), END_STREAM);
    let (status, garbled) = (Outcome::Status, Outcome::Garbled);
    Case {
        protocol: set_up(METHOD, |_| ()),
        asked: requests(9),
        bytes: frames.bytes,
        outcomes: vec![
            Outcome::Hit,
            status,
            garbled, // OK without a message
            Outcome::Hit,
            status,
            status,
            garbled, // no status at all
            garbled, // two messages
            status,
        ],
    }
}

/// Frames of the usual reply to each call, in which `call` is the status.
fn replies(count: u32, call: &str) -> Vec<u8> {
    let mut frames = Frames::open();
    for id in (1..2 * count).step_by(2) {
        frames = frames.head(id, &[(":status", "200")], 0).data(id, &message(b"hi"), 0).head(
            id,
            &[("grpc-status", call)],
            END_STREAM,
        );
    }
    frames.bytes
}

fn hear(protocol: &dyn Protocol, count: u32, bytes: &[u8]) {
    let mut decoder = protocol.decoder();
    for asked in requests(count) {
        let mut message = Vec::new();
        protocol.encode(asked, &mut message);
        decoder.interleaved().unwrap().begin(asked, &mut message);
    }
    let mut at = 0;
    while at < bytes.len() {
        at += decoder.read(Asked::default(), &bytes[at..]).used;
    }
}

#[test]
fn what_calls_come_to_is_counted_by_name_and_their_messages_are_looked_at() {
    let protocol = set_up(METHOD, |job| job.expect_regex = "^hi$".into());
    hear(protocol.as_ref(), 3, &replies(3, "8"));
    hear(protocol.as_ref(), 5, &replies(5, "0"));
    hear(protocol.as_ref(), 1, &replies(1, "99"));
    let statuses = protocol.statuses().unwrap().counts();
    let wanted = [("RESOURCE_EXHAUSTED", 3), ("another grpc-status", 1)];
    assert_eq!(statuses, wanted.map(|(name, count)| (name.to_string(), count)).into());
    let looked = protocol.sampled().unwrap().look();
    assert_eq!((looked.checked, looked.failed.len()), (5, 0), "{}", looked.example);
}

/// gRPC over HTTP/2, Length-Prefixed-Message: the first byte says whether the rest is compressed.
#[test]
fn a_compressed_reply_is_judged_by_its_length_and_what_is_none_is_named() {
    let of = |body: &[u8]| {
        let protocol = set_up(METHOD, |_| ());
        let frames = Frames::open().head(1, &[(":status", "200")], 0).data(1, body, 0).head(
            1,
            &[("grpc-status", "0")],
            END_STREAM,
        );
        hear(protocol.as_ref(), 1, &frames.bytes);
        protocol.statuses().unwrap().counts().into_keys().collect::<Vec<String>>().join("; ")
    };
    let gzip = [&[1, 0, 0, 0, 3][..], b"\x1f\x8b\x08"].concat();
    assert_eq!(of(&gzip), "", "nothing but a hit");
    assert_eq!(of(&[]), "refused: grpc-status 0 without a message");
    assert_eq!(of(&gzip[..7]), "refused: a gRPC message shorter than its prefix says");
    let two = [message(b"a"), message(b"b")].concat();
    assert_eq!(of(&two), "refused: more than one gRPC message (the method is a stream)");
    let mixed = [gzip, message(b"b")].concat();
    assert_eq!(of(&mixed), "refused: more than one gRPC message (the method is a stream)");
}

#[test]
fn a_call_is_a_post_of_its_method_with_what_grpc_asks_for() {
    let protocol = set_up(METHOD, |job| job.header = vec!["X-Trace: 7".into()]);
    let mut sent = Vec::new();
    protocol.encode(Asked { op: GET, item: 0, id: 0 }, &mut sent);
    let has = |part: &[u8]| sent.windows(part.len()).any(|it| it == part);
    for part in ["/a.Greeter/Hello", "application/grpc", "trailers", "x-trace", "sojourn-load"] {
        assert!(has(part.as_bytes()), "{part}");
    }
    assert!(!has(b"*/*") && sent.ends_with(&[0, 0, 0, 0, 0]), "an empty message");
}

#[test]
fn what_no_call_can_be_asked_is_refused_by_name() {
    let at = |to: &str, change: &dyn Fn(&mut Job)| {
        let mut job = Job { target: to.into(), ..Job::default() };
        change(&mut job);
        let target = target(to).unwrap();
        let settled = settle(&mut job, &target);
        settled.and_then(|()| build(&job, &target).map(drop)).err().map(|fault| fault.at)
    };
    assert_eq!(at(METHOD, &|_| ()), None);
    for to in [
        "grpc://h",
        "grpc://h/",
        "grpc://h/a.B",
        "grpc://h/a.B/",
        "grpc://h/a/b/c",
        "grpc://h/a.B/C?d=1",
    ] {
        assert_eq!(at(to, &|_| ()), Some("target".into()), "{to}");
    }
    assert_eq!(at(METHOD, &|job| job.method = "GET".into()), None);
    assert_eq!(at(METHOD, &|job| job.method = "PUT".into()), Some("method".into()));
    assert_eq!(at(METHOD, &|job| job.paths = vec!["/x".into()]), Some("paths".into()));
    assert_eq!(at(METHOD, &|job| job.expect_status = "5".into()), Some("expect_status".into()));
    assert_eq!(at(METHOD, &|job| job.body = "{}".into()), Some("body".into()), "no descriptor");
    let mut job = Job { target: METHOD.into(), ..Job::default() };
    let target = target(METHOD).unwrap();
    settle(&mut job, &target).unwrap();
    settle(&mut job, &target).unwrap();
    assert_eq!(
        (job.method.as_str(), &job.paths[0][..], items(&job)),
        ("POST", "/a.Greeter/Hello", 1)
    );
}
