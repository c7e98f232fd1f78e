//! HTTP/2 over a set of paths: as [`super::http`], with many requests in flight on one connection.
//!
//! Frames are read and written here; headers are coded by [`hpack`]. What a reply must be is what it must
//! be over HTTP/1.1. Over TLS the server has to agree on `h2`; without TLS it is spoken to in HTTP/2 from
//! the first byte on (prior knowledge), and never asked to change over from HTTP/1.1.
//! Source: RFC 9113.

mod body;
mod control;
mod forms;
mod frames;
#[cfg(fuzzing)]
pub mod fuzzed;
mod hpack;
mod huffman;
mod judge;
mod session;
mod streams;
mod table;

use std::sync::Arc;

use sojourn_base::kind::{Kind, Param};
use sojourn_base::{Fault, units};

use super::http::{self, Paths, Wish};
use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::content::Content;
use crate::protocols::sampled::Sampled;
use crate::protocols::status_counts::StatusCounts;
pub(super) use body::PREFIX;
use forms::Form;
pub(super) use forms::{Block, framed, headers, pseudo};
pub(super) use judge::{Judge, words};
use session::Session;

/// Its name in a TLS handshake.
pub(super) const ALPN: &str = "h2";
/// Requests in flight on a connection, where the job does not say.
pub(super) const DEPTH: u32 = 16;
pub(super) const WINDOW: &str = "window";
/// The window that a client gives, bytes; a page's rest never waits for it.
pub(super) const WINDOW_PARAM: Param = Param {
    name: WINDOW,
    unit: "bytes",
    about: "that the server may send before it hears that they came: of each stream, and of all",
    default: "16MiB",
    range: "1..2147483647",
};

struct Http2 {
    paths: Paths<Form>,
    judge: Judge,
    window: u32,
    depth: usize,
    is_idempotent: bool,
}

impl Protocol for Http2 {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        let (form, number) = self.paths.form(asked.item);
        form.push(number, out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        decoder(&self.judge, self.window, self.depth)
    }

    fn request_bytes_max(&self) -> usize {
        self.paths.all().map(Form::bytes_max).max().unwrap_or(0)
    }

    fn sampled(&self) -> Option<&Sampled> {
        self.judge.wish.sampled.as_deref()
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn may_repeat(&self) -> bool {
        self.is_idempotent // RFC 9110, 9.2.2
    }

    fn statuses(&self) -> Option<&StatusCounts> {
        Some(&self.judge.statuses)
    }
}

/// One connection of any protocol on top of HTTP/2.
pub(super) fn decoder(judge: &Judge, window: u32, depth: usize) -> Box<dyn Decoder> {
    Box::new(Session::new(judge.clone(), window, depth))
}

/// Parameters of [`http`], and the window.
const PARAMS: [Param; http::PARAMS.len() + 1] = {
    let mut params = [WINDOW_PARAM; http::PARAMS.len() + 1];
    let mut at = 0;
    while at < http::PARAMS.len() {
        params[at] = http::PARAMS[at];
        at += 1;
    }
    params
};

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "http2",
        about: "HTTP/2, depth requests in flight on each connection; replies are checked as those of http",
        usage: "h2://HOST:PORT/PATH over TLS, h2c://HOST:PORT/PATH without (prior knowledge); of a unix socket, h2c://unix:/SOCKET:/PATH",
        params: &PARAMS,
        needs: &[],
        source: "RFC 9113, RFC 7541",
    },
    schemes: &[Scheme::secured("h2", 443, ALPN), Scheme::stream("h2c", 80)],
    options: &[http::ENCODING, WINDOW],
    is_opaque: true,
    wishes: &http::WISHES,
    depth: DEPTH,
    settle: http::settle,
    items: http::items,
    build,
    #[cfg(test)]
    case: Some(tests::case),
    ..PLAIN
};

fn build(job: &Job, target: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let paths = Paths::of(job, |paths| forms::forms(job, target, paths))?;
    let wish = Wish::of(job, paths.bodies())?;
    let judge = Judge { wish, are_calls: false, statuses: Arc::new(StatusCounts::of(words())) };
    let window = window(KIND.option(job, WINDOW))?;
    let is_idempotent = http::is_idempotent(&job.method);
    Ok(Arc::new(Http2 { paths, judge, window, depth: job.depth as usize, is_idempotent }))
}

/// Reads the option `window`.
pub(super) fn window(text: &str) -> Result<u32, Fault> {
    let bytes = units::parse_bytes(text).map_err(|fault| fault.within("option window"))?;
    let sound = u32::try_from(bytes).ok().filter(|it| (1..=frames::WINDOW_MAX).contains(it));
    sound.ok_or_else(|| {
        let fix = "give 1 to 2147483647 bytes, such as 64KiB or 16MiB";
        Fault::usage(format!("window is {text}"), "option window", fix)
    })
}

#[cfg(test)]
pub(in crate::protocols) mod tests;
