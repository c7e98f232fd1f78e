//! One connection: requests become streams, frames become replies, at any split.
//!
//! Life of a connection: it says its preface and settings, and has no room before it has heard the
//! server's, which say how many streams there may be. From then on each frame is read as a whole, but
//! for those with bodies, which are counted as they come and never kept. What is owed in return
//! (acknowledgements, windows, what a window held up) gathers in `words` until it is asked for.
//! A server that goes away answers the streams that it has begun; then the connection is over.
//! Source: RFC 9113.

use super::control::{self, Control, Table};
use super::forms::LENGTH;
use super::frames::{self, DATA, END_STREAM, HEAD, HEADERS, Head};
use super::hpack::NO_TABLE;
use super::judge::Judge;
use crate::protocols::http::flaws::Flaw;
use crate::protocols::{Asked, Decoder, Interleaved, Step};

/// Where in the frames the connection is.
#[derive(Clone, Copy)]
enum State {
    /// In a frame's head, or before it.
    Head,
    /// In a frame that is read as a whole.
    Payload(Head),
    /// In a frame of a body.
    Data(Data),
}

/// What is left of a frame of a body.
#[derive(Clone, Copy)]
struct Data {
    stream: u32,
    /// Whether the length of the padding is still to come.
    is_padded: bool,
    own: usize,
    padding: usize,
    is_last: bool,
}

/// See the module.
pub(super) struct Session {
    control: Control,
    /// Bytes that the server may send before it hears of more, of each stream and of all.
    window: u32,
    state: State,
    /// The head of the frame being read, as far as it has come.
    head: [u8; HEAD],
    head_len: usize,
    /// A frame that comes in parts.
    payload: Vec<u8>,
    /// The frames of the request being sent.
    request: Vec<u8>,
    /// Bytes received since the server was given a new window for all.
    received: u32,
}

impl Decoder for Session {
    fn read(&mut self, _: Asked, bytes: &[u8]) -> Step {
        if bytes.is_empty() { Step::more(0) } else { self.go_on(bytes) }
    }

    fn reset(&mut self) {
        self.control.reset();
        self.state = State::Head;
        (self.head_len, self.received) = (0, 0);
        self.payload.clear();
        frames::push_opening(self.window, &mut self.control.words);
    }

    fn interleaved(&mut self) -> Option<&mut dyn Interleaved> {
        Some(self)
    }
}

impl Interleaved for Session {
    fn begin(&mut self, asked: Asked, message: &mut Vec<u8>) {
        let Control { streams, table, .. } = &mut self.control;
        let id = streams.open(asked);
        let Some(&length) = message.first_chunk::<LENGTH>() else { return };
        let end = LENGTH + u32::from_le_bytes(length) as usize;
        let mut begin = LENGTH;
        if *table == Table::Unconfirmed {
            *table = Table::Empty;
            begin -= 1; // where the length was, which has been read
            message[begin] = NO_TABLE;
        }
        let (block, body) = (&message[begin..end], &message[end..]);
        self.request.clear();
        control::push_headers(block, id, body.is_empty(), streams.frame_max(), &mut self.request);
        streams.send(body, &mut self.request);
        std::mem::swap(message, &mut self.request);
    }

    fn cancel(&mut self, request: u32) {
        let Control { streams, words, .. } = &mut self.control;
        let stream = streams.of_request(request).and_then(|id| streams.take(id));
        if let Some(stream) = stream {
            frames::push_number(frames::RST_STREAM, stream.id, frames::CANCEL, words);
            self.control.give_back(stream);
        }
    }

    fn returned(&mut self) -> Option<u32> {
        let Control { streams, leaving, .. } = &mut self.control;
        let stream = leaving.and_then(|last| streams.take_beyond(last))?;
        let request = stream.asked.id;
        self.control.give_back(stream);
        Some(request)
    }

    fn owes(&self) -> bool {
        !self.control.words.is_empty()
    }

    fn say(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.control.words);
    }

    fn room(&self) -> u32 {
        self.control.streams_max.filter(|_| !self.is_leaving()).unwrap_or(0)
    }

    fn is_leaving(&self) -> bool {
        self.control.leaving.is_some() || !self.control.streams.has_numbers()
    }

    fn is_over(&self) -> bool {
        self.is_leaving() && self.control.streams.is_empty()
    }
}

impl Session {
    pub(super) fn new(judge: Judge, window: u32, depth: usize) -> Self {
        let mut this = Self {
            control: Control::new(judge, depth),
            window,
            state: State::Head,
            head: [0; HEAD],
            head_len: 0,
            payload: Vec::with_capacity(frames::FRAME_MAX),
            request: Vec::with_capacity(1024),
            received: 0,
        };
        this.reset();
        this
    }

    fn go_on(&mut self, bytes: &[u8]) -> Step {
        match self.state {
            State::Head => self.read_head(bytes),
            State::Payload(head) => self.read_payload(head, bytes),
            State::Data(data) => self.read_data(data, bytes),
        }
    }

    fn read_head(&mut self, bytes: &[u8]) -> Step {
        let used = bytes.len().min(HEAD - self.head_len);
        self.head[self.head_len..self.head_len + used].copy_from_slice(&bytes[..used]);
        self.head_len += used;
        if self.head[0] != 0 {
            return self.garbled(bytes.len()); // no frame is so long: it may be a word of another protocol
        }
        if self.head_len < HEAD {
            return Step::more(used);
        }
        self.head_len = 0;
        let head = Head::read(&self.head);
        let Control { streams, streams_max, continued, .. } = &self.control;
        let is_due = continued
            .as_ref()
            .is_none_or(|first| head.kind == frames::CONTINUATION && head.stream == first.stream);
        let is_first = streams_max.is_none() && head.kind != frames::SETTINGS;
        if !head.is_sound() || !is_due || is_first {
            return self.garbled(bytes.len());
        }
        if head.kind == DATA {
            let was_opened = streams.was_opened(head.stream);
            let stream = self.control.streams.find(head.stream);
            if !was_opened || stream.is_some_and(|stream| stream.status == 0) {
                return self.garbled(bytes.len()); // of no stream, or a body before its head
            }
            self.receive(head);
        } else {
            self.state = State::Payload(head);
        }
        let step = self.go_on(&bytes[used..]);
        Step { used: used + step.used, ..step }
    }

    /// A frame of a body begins: all of it counts against the windows.
    fn receive(&mut self, head: Head) {
        self.received += head.length as u32;
        if let Some(stream) = self.control.streams.find(head.stream) {
            stream.received += head.length as u32;
        }
        self.state = State::Data(Data {
            stream: head.stream,
            is_padded: head.has(frames::PADDED),
            own: head.length,
            padding: 0,
            is_last: head.has(END_STREAM),
        });
    }

    fn read_payload(&mut self, head: Head, bytes: &[u8]) -> Step {
        let due = head.length - self.payload.len();
        let Some(rest) = bytes.get(..due) else {
            self.payload.extend_from_slice(bytes);
            let of_reply = head.kind == HEADERS;
            let request = if of_reply { self.control.request_of(head.stream) } else { None };
            return Step { request, ..Step::more(bytes.len()) };
        };
        self.state = State::Head;
        let meaning = if self.payload.is_empty() {
            self.control.read(head, rest)
        } else {
            let mut payload = std::mem::take(&mut self.payload);
            payload.extend_from_slice(rest);
            let meaning = self.control.read(head, &payload);
            payload.clear();
            self.payload = payload;
            meaning
        };
        match meaning {
            Some((request, reply)) => Step { used: due, request, reply },
            None => self.garbled(bytes.len()),
        }
    }

    fn read_data(&mut self, mut data: Data, bytes: &[u8]) -> Step {
        let mut used = 0;
        if data.is_padded && data.own > 0 {
            let Some(&padding) = bytes.first() else { return Step::more(0) };
            (used, data.is_padded, data.padding) = (1, false, padding.into());
            let Some(own) = (data.own - 1).checked_sub(data.padding) else {
                return self.garbled(bytes.len()); // more than there is: RFC 9113, 6.1
            };
            data.own = own;
        } else if data.is_padded {
            return self.garbled(bytes.len());
        }
        let own = data.own.min(bytes.len() - used);
        let request = self.control.streams.find(data.stream).map(|stream| {
            stream.body.read(&bytes[used..used + own], stream.retained.as_mut());
            stream.asked.id
        });
        (used, data.own) = (used + own, data.own - own);
        let padding = data.padding.min(bytes.len() - used);
        (used, data.padding) = (used + padding, data.padding - padding);
        if data.own + data.padding > 0 {
            self.state = State::Data(data);
            return Step { request, ..Step::more(used) };
        }
        self.state = State::Head;
        self.give_window(data);
        if data.is_last
            && let Some(stream) = self.control.streams.take(data.stream)
        {
            let request = Some(stream.asked.id);
            let reply = Some(self.control.ended(stream));
            return Step { used, request, reply };
        }
        Step { request, ..Step::more(used) }
    }

    /// Lets the server send more, once it has used half of what it may.
    fn give_window(&mut self, data: Data) {
        let Self { window, received, control, .. } = self;
        let Control { streams, words, .. } = control;
        if *received >= (*window).max(frames::WINDOW) / 2 {
            frames::push_number(frames::WINDOW_UPDATE, 0, std::mem::take(received), words);
        }
        if let Some(stream) = streams.find(data.stream)
            && !data.is_last
            && stream.received >= (*window).div_ceil(2)
        {
            let by = std::mem::take(&mut stream.received);
            frames::push_number(frames::WINDOW_UPDATE, stream.id, by, words);
        }
    }

    /// What came is no HTTP/2: the connection is of no use.
    #[cold]
    fn garbled(&self, used: usize) -> Step {
        Step::end(used, self.control.judge.refuse(Flaw::Frame), 0)
    }
}
