//! What each frame means that is read as a whole: headers, and what concerns the connection and its streams.

use super::frames::{
    self, ACK, CONTINUATION, END_HEADERS, END_STREAM, GOAWAY, HEADER_TABLE_SIZE, HEADERS, Head,
    INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, PADDED, PING, PRIORITY,
    RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::hpack;
use super::judge::Judge;
use super::streams::{Stream, Streams};
use crate::protocols::http::lists;
use crate::protocols::sampled::Numbers;
use crate::protocols::{Outcome, Reply};

/// Longest headers of a reply, bytes, as they are sent; curl's limit for HTTP/1.1 is 300 KiB.
const BLOCK_MAX: usize = 256 * 1024;
/// Most frames that are answered while no reply ends: the answers wait where a server does not read them.
const ANSWERS_MAX: u32 = 10_000;

/// What a frame came to: the request that it belongs to, and the reply that it ended. `None`: it is none that may come.
pub(super) type Meaning = Option<(Option<u32>, Option<Reply>)>;

/// A frame that says nothing of any request.
const NOTHING: Meaning = Some((None, None));

/// Appends the frames of a request's headers.
pub(super) fn push_headers(block: &[u8], id: u32, is_all: bool, most: usize, out: &mut Vec<u8>) {
    let last = block.len().div_ceil(most).max(1) - 1;
    for (nth, piece) in block.chunks(most).enumerate() {
        let kind = if nth == 0 { HEADERS } else { CONTINUATION };
        let end = if nth == last { END_HEADERS } else { 0 };
        let all = if is_all && nth == 0 { END_STREAM } else { 0 };
        frames::push(kind, end | all, id, piece, out);
    }
}

/// What of a block of headers counts.
#[derive(Default)]
struct Seen {
    status: Option<u16>,
    length: Option<u64>,
    call: Option<u16>,
}

/// The table that the server keeps of headers that are sent, to which they never refer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// As every connection begins.
    Usual,
    /// The server wants a smaller one, which the next block has to confirm. Source: RFC 9113, 4.3.1.
    Unconfirmed,
    /// A block has said that it is empty, which is small enough for good.
    Empty,
}

/// What frames change that are read as a whole: the streams, and what the connection may do.
pub(super) struct Control {
    pub(super) judge: Judge,
    pub(super) streams: Streams,
    reader: hpack::Reader,
    /// Headers that come in several frames, and the head of the first.
    block: Vec<u8>,
    pub(super) continued: Option<Head>,
    pub(super) table: Table,
    /// Of the replies that are candidates for the sample.
    numbers: Numbers,
    /// What is owed to the server.
    pub(super) words: Vec<u8>,
    /// Frames that were answered since a reply ended.
    answers: u32,
    /// Most streams that the server lets be open; `None`: it has not spoken yet.
    pub(super) streams_max: Option<u32>,
    /// The server takes no new streams, and those beyond the number not at all.
    pub(super) leaving: Option<u32>,
}

impl Control {
    pub(super) fn new(judge: Judge, depth: usize) -> Self {
        let streams = Streams::new(depth, judge.are_calls);
        Self {
            judge,
            streams,
            reader: hpack::Reader::new(),
            block: Vec::new(),
            continued: None,
            table: Table::Usual,
            numbers: Numbers::default(),
            words: Vec::with_capacity(1024),
            answers: 0,
            streams_max: None,
            leaving: None,
        }
    }

    /// Before a new connection.
    pub(super) fn reset(&mut self) {
        let Self { judge, streams, .. } = self;
        for stream in streams.reset() {
            if let (Some(body), Some(sampled)) = (stream.retained, &judge.wish.sampled) {
                sampled.give_back(body);
            }
        }
        self.reader.reset();
        self.block.clear();
        self.words.clear();
        (self.continued, self.streams_max, self.leaving) = (None, None, None);
        (self.table, self.answers) = (Table::Usual, 0);
    }

    /// Reads a whole frame.
    pub(super) fn read(&mut self, head: Head, payload: &[u8]) -> Meaning {
        match head.kind {
            HEADERS => {
                let block = without_padding(head, payload)?;
                let block = if head.has(PRIORITY) { block.get(5..)? } else { block };
                if head.has(END_HEADERS) {
                    return self.headers(head, block);
                }
                self.block.clear();
                self.block.extend_from_slice(block);
                self.continued = Some(head);
                Some((self.request_of(head.stream), None))
            }
            CONTINUATION => {
                let first = self.continued?;
                if self.block.len() + payload.len() > BLOCK_MAX {
                    return None;
                }
                self.block.extend_from_slice(payload);
                if !head.has(END_HEADERS) {
                    return NOTHING;
                }
                self.continued = None;
                let block = std::mem::take(&mut self.block);
                let meaning = self.headers(first, &block);
                self.block = block;
                meaning
            }
            RST_STREAM => {
                if !self.streams.was_opened(head.stream) {
                    return None;
                }
                let Some(stream) = self.streams.take(head.stream) else { return NOTHING };
                let (request, outcome) =
                    (stream.asked.id, self.judge.reset(frames::number(payload)));
                Some((Some(request), Some(self.reply(stream, outcome))))
            }
            SETTINGS if !head.has(ACK) => self.settings(payload),
            PING if !head.has(ACK) => {
                self.count_answer()?;
                frames::push(PING, ACK, 0, payload, &mut self.words);
                NOTHING
            }
            GOAWAY => {
                let last = frames::number(payload) & frames::WINDOW_MAX;
                self.leaving = Some(self.leaving.map_or(last, |before| before.min(last)));
                self.judge.away(frames::number(payload.get(4..)?));
                NOTHING
            }
            WINDOW_UPDATE => {
                let by = frames::number(payload) & frames::WINDOW_MAX;
                self.streams.widen(head.stream, by)?;
                self.streams.release(&mut self.words);
                NOTHING
            }
            _ => NOTHING,
        }
    }

    /// One more frame is answered; `None`: they are too many.
    fn count_answer(&mut self) -> Option<()> {
        self.answers += 1;
        (self.answers <= ANSWERS_MAX).then_some(())
    }

    fn settings(&mut self, payload: &[u8]) -> Meaning {
        self.count_answer()?;
        let mut most = self.streams_max.unwrap_or(u32::MAX);
        for (setting, value) in frames::settings(payload) {
            match setting {
                MAX_CONCURRENT_STREAMS => most = value,
                INITIAL_WINDOW_SIZE => self.streams.set_window(value)?,
                MAX_FRAME_SIZE => self.streams.set_frame_max(value)?,
                HEADER_TABLE_SIZE
                    if (value as usize) < hpack::REMEMBERED_MAX && self.table == Table::Usual =>
                {
                    self.table = Table::Unconfirmed;
                }
                _ => {} // no affair of clients
            }
        }
        self.streams_max = Some(most);
        frames::push(SETTINGS, ACK, 0, &[], &mut self.words);
        self.streams.release(&mut self.words);
        NOTHING
    }

    /// Reads the headers or trailers of a reply. Those of a stream that was given up are read too: what
    /// follows on the connection may refer to them.
    fn headers(&mut self, head: Head, block: &[u8]) -> Meaning {
        let mut seen = Seen::default();
        self.reader.read(block, &mut |name, value| match name {
            b":status" => {
                seen.status = number(value).filter(|status: &u16| (100..1000).contains(status));
            }
            b"content-length" => {
                let is_same = |new: &u64| seen.length.is_none_or(|old| old == *new);
                let length = lists::number(value).filter(is_same);
                seen.length = Some(length.unwrap_or(u64::MAX)); // no body is so long: it is refused
            }
            b"grpc-status" => seen.call = number(value).or(Some(u16::MAX)),
            _ => {}
        })?;
        if !self.streams.was_opened(head.stream) {
            return None;
        }
        let are_calls = self.judge.are_calls;
        let Some(stream) = self.streams.find(head.stream) else { return NOTHING };
        let (request, is_end) = (stream.asked.id, head.has(END_STREAM));
        match (stream.status, seen.status) {
            (0, Some(100..200)) if !is_end => return Some((Some(request), None)),
            (0, Some(status)) => {
                (stream.status, stream.length) = (status, seen.length);
                if let Some(sampled) = &self.judge.wish.sampled {
                    stream.retained = sampled.begin(&mut self.numbers);
                }
            }
            (1.., None) if is_end => {} // trailers
            _ => return None,
        }
        stream.call = seen.call.filter(|_| are_calls && is_end).or(stream.call);
        let reply = if is_end {
            self.streams.take(head.stream).map(|stream| self.ended(stream))
        } else {
            None
        };
        Some((Some(request), reply))
    }

    /// The request that `stream` carries.
    pub(super) fn request_of(&mut self, stream: u32) -> Option<u32> {
        self.streams.find(stream).map(|stream| stream.asked.id)
    }

    /// The reply on `stream`, which came to its end in order.
    pub(super) fn ended(&mut self, stream: Stream) -> Reply {
        let outcome = self.judge.outcome(&stream);
        self.reply(stream, outcome)
    }

    /// What `stream`, which is over, came to.
    fn reply(&mut self, mut stream: Stream, outcome: Outcome) -> Reply {
        self.answers = 0;
        if stream.is_held() {
            // The server did not wait for all of the request, and need not take it: RFC 9113, 8.1.
            frames::push_number(frames::RST_STREAM, stream.id, frames::CANCEL, &mut self.words);
        }
        let body_bytes = stream.body.bytes().min(u64::from(u32::MAX)) as u32;
        match (outcome, stream.retained.take(), &self.judge.wish.sampled) {
            (Outcome::Hit, Some(body), Some(sampled)) => {
                let wanted = self.judge.wish.sha256_of(stream.asked.item);
                sampled.keep(body, wanted);
            }
            (_, Some(body), Some(sampled)) => sampled.give_back(body),
            _ => {}
        }
        Reply { outcome, body_bytes, last: false }
    }

    /// Lets go of a body that was being kept.
    pub(super) fn give_back(&self, stream: Stream) {
        if let (Some(body), Some(sampled)) = (stream.retained, &self.judge.wish.sampled) {
            sampled.give_back(body);
        }
    }
}

fn without_padding(head: Head, payload: &[u8]) -> Option<&[u8]> {
    if !head.has(PADDED) {
        return Some(payload);
    }
    let (&padding, rest) = payload.split_first()?;
    rest.get(..rest.len().checked_sub(padding.into())?)
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
