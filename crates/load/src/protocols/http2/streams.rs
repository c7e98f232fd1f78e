//! Requests in flight on one connection, each a stream, and the windows that bodies go through.
//!
//! Streams are opened in the order of their numbers, so that the list of them is sorted and a reply
//! finds its own by halving it. Nothing allocates unless a body has to wait for its window.

use std::collections::VecDeque;

use super::body::{Body, Message};
use super::frames::{self, DATA, END_STREAM, FRAME_MAX, WINDOW, WINDOW_MAX};
use crate::protocols::Asked;
use crate::protocols::sampled;

/// One request and the reply to it, as far as both have come.
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) asked: Asked,
    /// Status of the reply; 0: its head has not come.
    pub(super) status: u16,
    /// Bytes that its body has, as its head says.
    pub(super) length: Option<u64>,
    /// What the call came to, as the trailers say.
    pub(super) call: Option<u16>,
    pub(super) body: Body,
    /// The body is one of the sample.
    pub(super) retained: Option<sampled::Body>,
    /// Bytes received since the server was given a new window.
    pub(super) received: u32,
    /// Bytes that the server still takes.
    window: i64,
    /// What is to be sent when it takes more.
    held: Vec<u8>,
}

impl Stream {
    /// Whether a part of the request has not been sent.
    pub(super) fn is_held(&self) -> bool {
        !self.held.is_empty()
    }
}

/// All of one connection.
pub(super) struct Streams {
    open: VecDeque<Stream>,
    /// Number of the next one.
    next: u32,
    /// Bytes that the server takes of all streams together, and of a new one.
    window: i64,
    window_each: i64,
    frame_max: usize,
    has_messages: bool,
}

impl Streams {
    /// Room for `depth` streams, whose replies are messages of gRPC or any bytes.
    pub(super) fn new(depth: usize, has_messages: bool) -> Self {
        Self {
            open: VecDeque::with_capacity(depth),
            next: 1,
            window: WINDOW.into(),
            window_each: WINDOW.into(),
            frame_max: FRAME_MAX,
            has_messages,
        }
    }

    /// The connection is new. Answers the streams that were open.
    pub(super) fn reset(&mut self) -> impl Iterator<Item = Stream> + '_ {
        (self.next, self.frame_max) = (1, FRAME_MAX);
        (self.window, self.window_each) = (WINDOW.into(), WINDOW.into());
        self.open.drain(..)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether there is a number left for one more. Source: RFC 9113, 5.1.1.
    pub(super) fn has_numbers(&self) -> bool {
        self.next <= WINDOW_MAX
    }

    /// Whether stream `id` has been opened by this side, be it over or not.
    pub(super) fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next
    }

    /// Opens one for `asked`; its number.
    pub(super) fn open(&mut self, asked: Asked) -> u32 {
        let id = self.next;
        self.next += 2;
        let body =
            if self.has_messages { Body::Message(Message::default()) } else { Body::Plain(0) };
        self.open.push_back(Stream {
            length: None,
            id,
            asked,
            status: 0,
            call: None,
            body,
            retained: None,
            received: 0,
            window: self.window_each,
            held: Vec::new(),
        });
        id
    }

    pub(super) fn find(&mut self, id: u32) -> Option<&mut Stream> {
        let at = self.place(id)?;
        self.open.get_mut(at)
    }

    pub(super) fn take(&mut self, id: u32) -> Option<Stream> {
        let at = self.place(id)?;
        self.open.remove(at)
    }

    /// The stream of a request.
    pub(super) fn of_request(&self, request: u32) -> Option<u32> {
        self.open.iter().find(|stream| stream.asked.id == request).map(|stream| stream.id)
    }

    /// One whose number is above `last`.
    pub(super) fn take_beyond(&mut self, last: u32) -> Option<Stream> {
        if self.open.back()?.id > last { self.open.pop_back() } else { None }
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.open.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    /// Appends as much of the newest stream's `body` as the server takes, and holds the rest.
    pub(super) fn send(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let Self { open, window, frame_max, .. } = self;
        let Some(stream) = open.back_mut() else { return };
        let sent = push_data(stream, body, window, *frame_max, out);
        if sent < body.len() {
            stream.held.extend_from_slice(&body[sent..]);
        }
    }

    /// Appends what was held and may be sent now.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        let Self { open, window, frame_max, .. } = self;
        for stream in open.iter_mut().filter(|stream| stream.is_held()) {
            let held = std::mem::take(&mut stream.held);
            let sent = push_data(stream, &held, window, *frame_max, out);
            stream.held = held;
            stream.held.drain(..sent);
        }
    }

    /// The server takes so many bytes more, of stream `id` or of all; `None`: more than may be.
    pub(super) fn widen(&mut self, id: u32, by: u32) -> Option<()> {
        let window = match id {
            0 => &mut self.window,
            _ => match self.find(id) {
                Some(stream) => &mut stream.window,
                None => return Some(()), // it is over
            },
        };
        *window += i64::from(by);
        (by > 0 && *window <= WINDOW_MAX.into()).then_some(())
    }

    /// The server's window for each stream is another. Source: RFC 9113, 6.9.2.
    pub(super) fn set_window(&mut self, size: u32) -> Option<()> {
        let by = i64::from(size) - self.window_each;
        self.window_each = size.into();
        self.open.iter_mut().for_each(|stream| stream.window += by);
        let is_sound = |stream: &Stream| stream.window <= WINDOW_MAX.into();
        (size <= WINDOW_MAX && self.open.iter().all(is_sound)).then_some(())
    }

    /// The longest frame that the server takes.
    pub(super) fn set_frame_max(&mut self, size: u32) -> Option<()> {
        let size = size as usize;
        self.frame_max = (FRAME_MAX..1 << 24).contains(&size).then_some(size)?;
        Some(())
    }

    pub(super) fn frame_max(&self) -> usize {
        self.frame_max
    }
}

/// Appends what of `body` both windows let through, the last frame with the stream's end; how much.
fn push_data(
    stream: &mut Stream,
    body: &[u8],
    window: &mut i64,
    frame_max: usize,
    out: &mut Vec<u8>,
) -> usize {
    let room = stream.window.min(*window).max(0) as usize;
    let sent = body.len().min(room);
    for (nth, piece) in body[..sent].chunks(frame_max).enumerate() {
        let is_last = nth * frame_max + piece.len() == body.len();
        frames::push(DATA, if is_last { END_STREAM } else { 0 }, stream.id, piece, out);
    }
    stream.window -= sent as i64;
    *window -= sent as i64;
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_lengths(bytes: &[u8]) -> Vec<(usize, bool)> {
        let (mut at, mut all) = (0, Vec::new());
        while at < bytes.len() {
            let head = frames::Head::read(bytes[at..].first_chunk().unwrap());
            all.push((head.length, head.has(END_STREAM)));
            at += frames::HEAD + head.length;
        }
        all
    }

    #[test]
    fn a_body_goes_as_far_as_both_windows_let_it() {
        let mut streams = Streams::new(4, false);
        let (body, mut out) = (vec![7; 100_000], Vec::new());
        let first = streams.open(Asked::default());
        streams.send(&body, &mut out);
        let frames = frame_lengths(&out);
        assert_eq!(frames.iter().map(|it| it.0).sum::<usize>(), 65_535);
        assert!(frames.iter().all(|it| it.0 <= FRAME_MAX && !it.1), "{frames:?}");
        out.clear();
        streams.widen(first, 50_000).unwrap();
        streams.release(&mut out);
        assert!(out.is_empty(), "the connection's window is empty");
        streams.widen(0, 30_000).unwrap();
        streams.release(&mut out);
        assert_eq!(frame_lengths(&out).iter().map(|it| it.0).sum::<usize>(), 30_000);
        out.clear();
        streams.widen(0, 30_000).unwrap();
        streams.release(&mut out);
        assert_eq!(frame_lengths(&out), [(4_465, true)]);
        assert!(!streams.find(first).unwrap().is_held());
    }

    #[test]
    fn a_window_may_shrink_below_nothing_and_grow_no_further_than_it_may() {
        let mut streams = Streams::new(4, false);
        let id = streams.open(Asked::default());
        let mut out = Vec::new();
        streams.send(&[1; 1000], &mut out);
        streams.set_window(500).unwrap();
        assert_eq!(streams.find(id).unwrap().window, -500);
        assert_eq!(streams.widen(id, 0), None, "no window at all: RFC 9113, 6.9");
        assert_eq!(streams.widen(0, WINDOW_MAX), None);
        assert_eq!(streams.widen(99, 5), Some(()), "a stream that is over");
        assert_eq!((streams.set_window(1 << 31), streams.set_frame_max(1 << 24)), (None, None));
    }

    #[test]
    fn streams_are_found_by_their_numbers_in_any_order() {
        let mut streams = Streams::new(4, true);
        for request in 10..14 {
            streams.open(Asked { id: request, ..Asked::default() });
        }
        assert_eq!(streams.take(3).unwrap().asked.id, 11);
        assert!(streams.take(3).is_none() && streams.was_opened(3) && !streams.was_opened(2));
        assert_eq!((streams.of_request(13), streams.of_request(11)), (Some(7), None));
        assert_eq!(streams.take_beyond(5).unwrap().id, 7);
        assert!(streams.take_beyond(5).is_none());
        assert_eq!(streams.reset().map(|stream| stream.id).collect::<Vec<_>>(), [1, 5]);
    }
}
