//! HTTP/1.1: `GET` with keep-alive over a set of paths.
//!
//! Life of a reply: a head (parsed when it is complete), then a body, whose length the head told,
//! which comes in chunks, or which ends with the connection. 200 to 299 is a hit, 404 and 410 a miss, everything else an error status.
//! A server that says `Connection: close` is believed. Source: RFC 9112.

mod body;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::line::push_number;
use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind, Reply, Step};
use crate::content::Content;
use crate::job::Job;
use crate::marks::Outcome;
use crate::target::{Scheme, Target};
use body::{Body, Took};

/// Longest head of a reply, bytes; curl's limit is 300 KiB, nginx's own for proxied ones 4 to 8 KiB.
const HEAD_MAX: usize = 256 * 1024;
/// Room for the usual head, so that the loop allocates only for another.
const HEAD_USUAL: usize = 16 * 1024;
const ENCODING: &str = "accept_encoding";
/// Headers for which there is room on the stack, and the most that are read.
const HEADERS_USUAL: usize = 64;
const HEADERS_MAX: usize = 4096;

struct Http {
    /// Requests of paths without a number, whole.
    fixed: Vec<Vec<u8>>,
    /// Requests of paths with one: what comes before and after it.
    numbered: Vec<(Vec<u8>, Vec<u8>)>,
    items: u32,
    expect_bytes: u64,
}

impl Protocol for Http {
    /// Items below the number of fixed paths are these; the others go over the numbered paths, each
    /// `items` long, as [`items`] counts them.
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        let item = asked.item as usize;
        if let Some(request) = self.fixed.get(item) {
            out.extend_from_slice(request);
            return;
        }
        let nth = item - self.fixed.len();
        let (before, after) = &self.numbered[nth / self.items as usize % self.numbered.len()];
        out.extend_from_slice(before);
        push_number((nth % self.items as usize) as u32, out);
        out.extend_from_slice(after);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader {
            expect_bytes: self.expect_bytes,
            head: Vec::with_capacity(HEAD_USUAL),
            state: None,
        })
    }

    fn request_bytes_max(&self) -> usize {
        let fixed = self.fixed.iter().map(Vec::len).max().unwrap_or(0);
        let numbered = self.numbered.iter().map(|(a, b)| a.len() + b.len() + 10).max();
        fixed.max(numbered.unwrap_or(0))
    }
}

/// What the head of the reply being read said.
struct Reading {
    status: u16,
    is_last: bool,
    body: Body,
}

struct Reader {
    expect_bytes: u64,
    /// The head as far as it has come, unless it comes in one piece.
    head: Vec<u8>,
    state: Option<Reading>,
}

impl Decoder for Reader {
    fn read(&mut self, _: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        if self.state.is_none() {
            match self.read_head(bytes) {
                Head::Whole(taken, reading) => {
                    used = taken;
                    self.state = Some(reading);
                }
                Head::Informational(taken) => return Step::more(taken),
                Head::Part => return Step::more(bytes.len()),
                Head::Garbled => return Step::end(bytes.len(), Outcome::Garbled, 0),
            }
        }
        let Some(reading) = &mut self.state else { return Step::more(used) };
        match reading.body.read(&bytes[used..]) {
            Took::More(taken) => Step::more(used + taken),
            Took::All(taken) => self.end(used + taken),
            Took::Garbled => Step::end(bytes.len(), Outcome::Garbled, 0),
        }
    }

    fn ended(&mut self, _: Asked) -> Option<Reply> {
        let is_whole = self.state.as_ref().is_some_and(|it| it.body.ends_with_connection());
        if is_whole { self.end(0).reply } else { None }
    }

    fn reset(&mut self) {
        self.head.clear();
        self.state = None;
    }
}

enum Head {
    /// Bytes used of the input, and what it said.
    Whole(usize, Reading),
    /// A 1xx: the real head follows.
    Informational(usize),
    Part,
    Garbled,
}

impl Reader {
    fn read_head(&mut self, bytes: &[u8]) -> Head {
        if self.head.is_empty() {
            let head = parse(bytes);
            if matches!(head, Head::Part) {
                self.head.extend_from_slice(&bytes[..bytes.len().min(HEAD_MAX)]);
                return if bytes.len() > HEAD_MAX { Head::Garbled } else { Head::Part };
            }
            return head;
        }
        let kept = self.head.len();
        let room = bytes.len().min(HEAD_MAX - kept);
        self.head.extend_from_slice(&bytes[..room]);
        match parse(&self.head) {
            Head::Part if room < bytes.len() => Head::Garbled,
            Head::Part => Head::Part,
            Head::Whole(taken, reading) => {
                self.head.clear();
                Head::Whole(taken - kept, reading)
            }
            Head::Informational(taken) => {
                self.head.clear();
                Head::Informational(taken - kept)
            }
            Head::Garbled => Head::Garbled,
        }
    }

    fn end(&mut self, used: usize) -> Step {
        let Some(reading) = self.state.take() else { return Step::more(used) };
        let bytes = reading.body.bytes();
        let outcome = match reading.status {
            200..=299 if self.expect_bytes > 0 && bytes != self.expect_bytes => Outcome::Length,
            200..=299 => Outcome::Hit,
            404 | 410 => Outcome::Miss,
            _ => Outcome::Status,
        };
        let body_bytes = bytes.min(u64::from(u32::MAX)) as u32;
        Step { used, reply: Some(Reply { outcome, body_bytes, last: reading.is_last }) }
    }
}

/// Parses a head at the start of `bytes`.
fn parse(bytes: &[u8]) -> Head {
    match parse_into(bytes, &mut [httparse::EMPTY_HEADER; HEADERS_USUAL]) {
        Some(head) => head,
        None => parse_into(bytes, &mut vec![httparse::EMPTY_HEADER; HEADERS_MAX])
            .unwrap_or(Head::Garbled),
    }
}

/// `None`: `headers` has room for too few.
fn parse_into<'a>(bytes: &'a [u8], headers: &mut [httparse::Header<'a>]) -> Option<Head> {
    let mut response = httparse::Response::new(headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(taken)) => Some(understood(&response, taken)),
        Ok(httparse::Status::Partial) => Some(Head::Part),
        Err(httparse::Error::TooManyHeaders) => None,
        Err(_) => Some(Head::Garbled),
    }
}

/// What a whole head of `taken` bytes says.
fn understood(response: &httparse::Response<'_, '_>, taken: usize) -> Head {
    let Some(status) = response.code else { return Head::Garbled };
    if (100..200).contains(&status) {
        return Head::Informational(taken);
    }
    let mut is_last = response.version == Some(0);
    let (mut length, mut transfer) = (None, None);
    let empty = match status {
        204 | 304 => Some(Body::of_length(0)),
        _ => None,
    };
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let told = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            if told.is_none() || length.is_some_and(|length| told != Some(length)) {
                return Head::Garbled; // none, or two that differ: RFC 9112, 6.3
            }
            length = told;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding")
            && value.to_ascii_lowercase().ends_with(b"chunked")
        {
            transfer = Some(Body::chunked());
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            transfer = Some(Body::until_close());
        } else if header.name.eq_ignore_ascii_case("connection") {
            let value = value.to_ascii_lowercase();
            is_last = value == b"close" || (is_last && value != b"keep-alive");
        }
    }
    // A transfer coding goes before a length, and nothing before a status without a body: 6.3.
    let body = empty.or(transfer).or(length.map(Body::of_length));
    let body = body.unwrap_or_else(Body::until_close);
    Head::Whole(taken, Reading { status, is_last, body })
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "http",
        about: "HTTP/1.1 GET with keep-alive; status and body length are checked",
        usage: "http://HOST:PORT/PATH",
        params: &[
            Param {
                name: "paths",
                unit: "",
                about: "what is asked for; {} is replaced by a number below items",
                default: "/",
                range: "begin with /",
            },
            Param {
                name: "expect_bytes",
                unit: "bytes",
                about: "body size a reply must have; 0: any",
                default: "0",
                range: ">= 0",
            },
            Param {
                name: ENCODING,
                unit: "",
                about: "codings that replies may have, such as gzip; they are not decoded",
                default: "",
                range: "",
            },
        ],
        needs: &[],
        source: "RFC 9112",
    },
    schemes: &[Scheme::stream("http", 80)],
    options: &[ENCODING],
    settle,
    items,
    build,
    ..PLAIN
};

/// The paths are the job's own, or the one of its target.
fn settle(job: &mut Job, target: &Target) -> Result<(), Fault> {
    if target.path == "/" {
        return Ok(());
    }
    if job.paths != Job::default().paths && job.paths != [target.path.as_str()] {
        return Err(Fault::usage(
            format!("the target names the path {}, and paths names others", target.path),
            "paths",
            "give the path in one place: in the target, or in paths with a target that ends in /",
        ));
    }
    job.paths = vec![target.path.clone()];
    Ok(())
}

/// Paths, those with `{}` counted once per number.
fn items(job: &Job) -> u64 {
    job.paths.iter().map(|path| if path.contains("{}") { job.items } else { 1 }).sum()
}

/// The header that allows codings; empty where none is allowed.
fn encoding(job: &Job) -> Result<String, Fault> {
    let text = KIND.option(job, ENCODING);
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-*;=., ".contains(&byte)) {
        let what = format!("'{text}' names no codings");
        return Err(Fault::usage(what, format!("option {ENCODING}"), "write such as gzip"));
    }
    let is_plain = text.is_empty();
    Ok(if is_plain { String::new() } else { format!("Accept-Encoding: {text}\r\n") })
}

fn build(job: &Job, target: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let host = if target.host.contains(':') {
        format!("[{}]:{}", target.host, target.port)
    } else {
        format!("{}:{}", target.host, target.port)
    };
    let encoding = encoding(job)?;
    let rest = format!(
        " HTTP/1.1\r\nHost: {host}\r\nUser-Agent: sojourn-load\r\nAccept: */*\r\n{encoding}\r\n"
    );
    let (mut fixed, mut numbered) = (Vec::new(), Vec::new());
    for path in &job.paths {
        let is_sound = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_sound {
            return Err(Fault::usage(
                format!("'{path}' is not a path"),
                "paths",
                "begin it with /, and write other than printable ASCII as %XX",
            ));
        }
        match path.split_once("{}") {
            Some((before, after)) => numbered.push((
                format!("GET {before}").into_bytes(),
                format!("{after}{rest}").into_bytes(),
            )),
            None => fixed.push(format!("GET {path}{rest}").into_bytes()),
        }
    }
    if fixed.is_empty() && numbered.is_empty() {
        return Err(Fault::usage("there are no paths", "paths", "give at least one, such as /"));
    }
    let items = job.items as u32;
    Ok(Arc::new(Http { fixed, numbered, items, expect_bytes: job.expect_bytes }))
}
