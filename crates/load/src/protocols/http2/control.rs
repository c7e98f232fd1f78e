//! What each frame means that is read as a whole: headers, and what connection and streams are told.

use super::frames::{
    self, ACK, CONTINUATION, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Head, INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, PADDED, PING, PRIORITY, RST_STREAM, SETTINGS,
    WINDOW_UPDATE,
};
use super::session::{Session, Told};
use crate::protocols::Reply;
use crate::protocols::http::lists;

/// Longest headers of a reply, bytes, as they are sent; curl's limit for HTTP/1.1 is 300 KiB.
const BLOCK_MAX: usize = 256 * 1024;
/// A frame that says nothing of any request.
const NOTHING: Told = Some((None, None));

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

/// Reads a whole frame.
pub(super) fn read(session: &mut Session, head: Head, payload: &[u8]) -> Told {
    match head.kind {
        HEADERS => {
            let block = without_padding(head, payload)?;
            let block = if head.has(PRIORITY) { block.get(5..)? } else { block };
            if head.has(END_HEADERS) {
                return headers(session, head, block);
            }
            session.block.clear();
            session.block.extend_from_slice(block);
            session.continued = Some(head);
            Some((session.request_of(head.stream), None))
        }
        CONTINUATION => {
            let first = session.continued?;
            if session.block.len() + payload.len() > BLOCK_MAX {
                return None;
            }
            session.block.extend_from_slice(payload);
            if !head.has(END_HEADERS) {
                return NOTHING;
            }
            session.continued = None;
            let block = std::mem::take(&mut session.block);
            let told = headers(session, first, &block);
            session.block = block;
            told
        }
        RST_STREAM => {
            if !session.streams.was_opened(head.stream) {
                return None;
            }
            let Some(stream) = session.streams.take(head.stream) else { return NOTHING };
            let (request, outcome) =
                (stream.asked.id, session.judge.reset(frames::number(payload)));
            Some((Some(request), Some(session.reply(stream, outcome))))
        }
        SETTINGS if !head.has(ACK) => settings(session, payload),
        PING if !head.has(ACK) => {
            frames::push(PING, ACK, 0, payload, &mut session.words);
            NOTHING
        }
        GOAWAY => {
            let last = frames::number(payload) & frames::WINDOW_MAX;
            session.leaving = Some(session.leaving.map_or(last, |before| before.min(last)));
            session.judge.away(frames::number(payload.get(4..)?));
            NOTHING
        }
        WINDOW_UPDATE => {
            let by = frames::number(payload) & frames::WINDOW_MAX;
            session.streams.widen(head.stream, by)?;
            session.streams.release(&mut session.words);
            NOTHING
        }
        _ => NOTHING,
    }
}

fn without_padding(head: Head, payload: &[u8]) -> Option<&[u8]> {
    if !head.has(PADDED) {
        return Some(payload);
    }
    let (&padding, rest) = payload.split_first()?;
    rest.get(..rest.len().checked_sub(padding.into())?)
}

fn settings(session: &mut Session, payload: &[u8]) -> Told {
    let mut most = session.streams_max.unwrap_or(u32::MAX);
    for (setting, value) in frames::settings(payload) {
        match setting {
            MAX_CONCURRENT_STREAMS => most = value,
            INITIAL_WINDOW_SIZE => session.streams.set_window(value)?,
            MAX_FRAME_SIZE => session.streams.set_frame_max(value)?,
            _ => {} // of a table for what is sent, which has none, and what is no affair of clients
        }
    }
    session.streams_max = Some(most);
    frames::push(SETTINGS, ACK, 0, &[], &mut session.words);
    session.streams.release(&mut session.words);
    NOTHING
}

/// What of a block of headers counts.
#[derive(Default)]
struct Seen {
    status: Option<u16>,
    length: Option<u64>,
    call: Option<u16>,
}

/// Reads the headers or trailers of a reply. Those of a stream that was given up are read too: what
/// follows on the connection may refer to them.
fn headers(session: &mut Session, head: Head, block: &[u8]) -> Told {
    let mut seen = Seen::default();
    session.reader.read(block, &mut |name, value| match name {
        b":status" => {
            seen.status = number(value).filter(|status: &u16| (100..1000).contains(status));
        }
        b"content-length" => seen.length = lists::number(value),
        b"grpc-status" => seen.call = number(value).or(Some(u16::MAX)),
        _ => {}
    })?;
    if !session.streams.was_opened(head.stream) {
        return None;
    }
    let are_calls = session.judge.are_calls;
    let Some(stream) = session.streams.find(head.stream) else { return NOTHING };
    let (request, is_end) = (stream.asked.id, head.has(END_STREAM));
    match (stream.status, seen.status) {
        (0, Some(100..200)) if !is_end => return Some((Some(request), None)),
        (0, Some(status)) => {
            (stream.status, stream.length) = (status, seen.length);
            if !is_end && let Some(sampled) = &session.judge.wish.sampled {
                stream.kept = sampled.begin(request);
            }
        }
        (1.., None) if is_end => {} // trailers
        _ => return None,
    }
    stream.call = seen.call.filter(|_| are_calls && is_end).or(stream.call);
    let reply = if is_end { end(session, head.stream) } else { None };
    Some((Some(request), reply))
}

fn end(session: &mut Session, stream: u32) -> Option<Reply> {
    let stream = session.streams.take(stream)?;
    let outcome = session.judge.outcome(&stream);
    Some(session.reply(stream, outcome))
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
