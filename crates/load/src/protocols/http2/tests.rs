//! Streams of frames as a server sends them, what each request comes to, and what is said in return.

mod received;
mod sent;

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

    fn sent_beside(&mut self) -> Vec<(Head, Vec<u8>)> {
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
