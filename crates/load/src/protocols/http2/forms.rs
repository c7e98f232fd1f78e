//! Requests as HTTP/2 sends them: a block of headers and a body, each with the item's number where it is
//! asked for.
//!
//! A message is its block's length in four bytes, the block, and the body; the connection it goes on
//! puts both into frames ([`super::session`]).

use sojourn_base::Fault;

use super::frames::{FRAME_MAX, HEAD};
use super::hpack::{push_field, push_int, push_name};
use crate::job::Job;
use crate::job::target::{Carrier, Target};
use crate::protocols::http::requests::{self, DIGITS_MAX, ITEM};
use crate::protocols::line::push_number;

/// Longest block of a request's headers, bytes: servers take less.
const BLOCK_MAX: usize = 64 * 1024;
/// Bytes of the block's length.
pub(super) const LENGTH: usize = 4;
/// Headers of HTTP/1.1 that no request of HTTP/2 has. Source: RFC 9113, 8.2.2.
const NOT_TO_GIVE: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "upgrade", "te"];

enum Piece {
    Bytes(Vec<u8>),
    /// The item's number.
    Item,
    /// The length of a string: so many bytes and so many numbers.
    Length(usize, usize),
}

/// The block of headers of a request.
pub(in crate::protocols) struct Block {
    pieces: Vec<Piece>,
}

/// The request for one path.
pub(super) struct Form {
    block: Block,
    body: requests::Form,
}

impl Form {
    /// Appends the message for item `number` of this path.
    #[inline]
    pub(super) fn push(&self, number: u32, out: &mut Vec<u8>) {
        self.block.push(number, out);
        self.body.push(number, out);
    }

    /// The longest that its frames can be.
    pub(super) fn bytes_max(&self) -> usize {
        framed(self.block.bytes_max() + self.body.bytes_max())
    }
}

/// The most bytes of frames for a message of so many.
pub(in crate::protocols) fn framed(bytes: usize) -> usize {
    bytes + (bytes / FRAME_MAX + 2) * HEAD
}

impl Block {
    /// The block of `fields`, in which [`ITEM`] is a number.
    pub(in crate::protocols) fn of(fields: &[(String, String)]) -> Result<Self, Fault> {
        let (mut pieces, mut bytes) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            if !value.contains(ITEM) {
                push_field(name, value, &mut bytes);
                continue;
            }
            let parts: Vec<&str> = value.split(ITEM).collect();
            push_name(name.as_bytes(), &mut bytes);
            pieces.push(Piece::Bytes(std::mem::take(&mut bytes)));
            let length = parts.iter().map(|part| part.len()).sum();
            pieces.push(Piece::Length(length, parts.len() - 1));
            for (nth, part) in parts.into_iter().enumerate() {
                if nth > 0 {
                    pieces.push(Piece::Item);
                }
                pieces.push(Piece::Bytes(part.into()));
            }
        }
        pieces.push(Piece::Bytes(bytes));
        let block = Self { pieces };
        if block.bytes_max() > BLOCK_MAX {
            let what = format!("the headers of a request have {} bytes", block.bytes_max());
            return Err(Fault::usage(what, "header", format!("give at most {BLOCK_MAX}")));
        }
        Ok(block)
    }

    /// Appends a message up to its body.
    #[inline]
    pub(in crate::protocols) fn push(&self, number: u32, out: &mut Vec<u8>) {
        let begin = out.len() + LENGTH;
        out.extend_from_slice(&[0; LENGTH]);
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Item => push_number(number, out),
                Piece::Length(bytes, numbers) => {
                    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
                    push_int(0, 7, bytes + numbers * digits, out);
                }
            }
        }
        let length = (out.len() - begin) as u32;
        out[begin - LENGTH..begin].copy_from_slice(&length.to_le_bytes());
    }

    /// The longest that [`Block::push`] can append.
    pub(in crate::protocols) fn bytes_max(&self) -> usize {
        let of = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Item => DIGITS_MAX,
            Piece::Length(..) => 5,
        };
        LENGTH + self.pieces.iter().map(of).sum::<usize>()
    }
}

/// The requests of `job` for `paths`, in their order.
pub(super) fn forms(job: &Job, target: &Target, paths: &[String]) -> Result<Vec<Form>, Fault> {
    requests::check(job, paths)?;
    let headers = headers(job, target)?;
    let form = |path: &String| {
        let body = requests::bodies(job)?;
        let mut fields = pseudo(&job.method, target, path, &headers);
        fields.extend(headers.iter().filter(|(name, _)| name != "host").cloned());
        if let Some(length) = body.length()
            && (length > 0 || requests::WITH_LENGTH.contains(&job.method.as_str()))
        {
            fields.push(("content-length".into(), length.to_string()));
        }
        Ok(Form { block: Block::of(&fields)?, body })
    };
    paths.iter().map(form).collect()
}

/// The fields that every request begins with. Source: RFC 9113, 8.3.1.
pub(in crate::protocols) fn pseudo(
    method: &str,
    target: &Target,
    path: &str,
    headers: &[(String, String)],
) -> Vec<(String, String)> {
    let is_secured = target.scheme.carrier == Carrier::Tls;
    let host = headers.iter().find(|(name, _)| name == "host");
    let authority = host.map_or_else(|| target.authority(), |(_, value)| value.clone());
    let scheme = if is_secured { "https" } else { "http" };
    [
        (":method", method.into()),
        (":scheme", scheme.into()),
        (":authority", authority),
        (":path", requests::as_sent(path)),
    ]
    .map(|(name, value)| (name.into(), value))
    .into()
}

/// The headers of `job`, their names in small letters.
pub(in crate::protocols) fn headers(
    job: &Job,
    target: &Target,
) -> Result<Vec<(String, String)>, Fault> {
    let lines = requests::headers(job, target)?;
    let pairs = lines.lines().filter_map(|line| line.split_once(':'));
    let fields = pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let fields: Vec<_> = fields.collect();
    match fields.iter().find(|(name, _)| NOT_TO_GIVE.contains(&name.as_str())) {
        None => Ok(fields),
        Some((name, _)) => {
            let what = format!("HTTP/2 has no header {name}");
            Err(Fault::usage(what, "header", "leave it out: it is of HTTP/1.1"))
        }
    }
}
