//! A few bodies of replies, kept while the run goes on and looked at after it.
//!
//! Whether a body is what is expected takes longer to find out than a request may: a digest and a regular
//! expression are computed after the run, on a sample. Of the first requests each reply is kept; when
//! there is room for no more, every second one is forgotten, evenly, and from then on
//! half as many are stored. So at the end it is one in about `every`, evenly over the run, warm-up
//! included, and some 200 to 400 of any number. The loop copies their bytes into buffers that are used
//! again, and never waits for another thread that does so at the same moment: then the reply is not kept.
//!
//! Replies are numbered here, because a long run uses the numbers of its requests again: they are places in a
//! ring ([`crate::plan::lanes`]). Each connection takes some numbers at a time, so that threads seldom write to
//! what they share.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use regex_lite::Regex;
use ring::digest::{SHA256, digest};
use sojourn_base::Fault;

use crate::job::Job;

/// Most bodies that are stored.
const STORED_MAX: usize = 400;
/// Buffers for bodies that are being read, beside those that are stored.
const READING: usize = 64;
/// Room that a buffer has from the start; for longer bodies it grows once, and is used again.
const ROOM: usize = 4096;
/// Longest body that is stored, bytes.
const BODY_MAX: usize = 1 << 20;
/// Most bytes of all buffers: where bodies are longer, fewer are stored.
const BYTES_MAX: usize = 32 << 20;
/// Numbers that a connection takes at a time.
const NUMBERS: u32 = 64;
/// Bytes shown of the first body that is wrong.
const SHOWN: usize = 60;

/// What is expected of each body, and the sample that is held against it.
pub struct Sampled {
    /// Of so many replies one is stored; a power of two.
    every: AtomicU32,
    /// The first number that no connection has taken; it begins again after 2^32.
    next: AtomicU32,
    shelf: Mutex<Shelf>,
    sha256: Option<[u8; 32]>,
    regex: Option<Regex>,
}

#[derive(Default)]
struct Shelf {
    retained: Vec<StoredBody>,
    free: Vec<Body>,
    /// Of all kept bodies.
    bytes: usize,
}

/// A whole body, and the digest that it must have besides the job's.
struct StoredBody {
    body: Body,
    sha256: Option<[u8; 32]>,
}

/// The numbers of one connection's next replies.
#[derive(Debug, Default)]
pub struct Numbers {
    next: u32,
    left: u32,
}

/// A body as far as it has been read.
#[derive(Debug, Default)]
pub struct Body {
    /// That of its reply.
    number: u32,
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl Body {
    /// The next bytes of it.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.bytes.len() + bytes.len() > BODY_MAX;
        if !self.is_too_long {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// A part of it is missing: it was too long to be read whole.
    pub(crate) fn cut(&mut self) {
        self.is_too_long = true;
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.is_too_long = false;
    }
}

/// What a sample of bodies came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Bodies that were checked.
    pub checked: u64,
    /// One in so many replies.
    pub every: u64,
    /// Bodies too long to be checked.
    pub too_long: u64,
    /// Of those checked, how many failed, by the job's key for the check.
    pub failed: BTreeMap<String, u64>,
    /// How the first body that failed begins; empty without one.
    pub example: String,
}

impl Sampled {
    /// What `job` expects of bodies; `None`: nothing that needs their bytes.
    pub fn of(job: &Job) -> Result<Option<Self>, Fault> {
        let wishes = [&job.expect_sha256, &job.expect_regex, &job.expect_file];
        if wishes.iter().all(|wish| wish.is_empty()) {
            return Ok(None);
        }
        let shelf = Shelf {
            retained: Vec::with_capacity(STORED_MAX),
            free: (0..STORED_MAX + READING).map(|_| with_room()).collect(),
            bytes: 0,
        };
        Ok(Some(Self {
            every: AtomicU32::new(1),
            next: AtomicU32::new(0),
            shelf: Mutex::new(shelf),
            sha256: sha256(&job.expect_sha256)?,
            regex: regex(&job.expect_regex)?,
        }))
    }

    /// Where the body of the reply goes that begins now, the next of `numbers`; `None`: it is not stored.
    #[inline]
    pub fn begin(&self, numbers: &mut Numbers) -> Option<Body> {
        if numbers.left == 0 {
            *numbers = Numbers { next: self.next.fetch_add(NUMBERS, Relaxed), left: NUMBERS };
        }
        let number = numbers.next;
        *numbers = Numbers { next: number.wrapping_add(1), left: numbers.left - 1 };
        if !self.is_chosen(number) {
            return None;
        }
        let body = self.shelf.try_lock().ok()?.free.pop()?;
        Some(Body { number, ..body })
    }

    /// By its number times the golden ratio: evenly over the run, and not in step with items or
    /// connections that come in turn, of which only some would ever be seen. Source: Knuth, TAOCP 3, 6.4.
    #[inline]
    fn is_chosen(&self, number: u32) -> bool {
        number.wrapping_mul(0x9e37_79b9).reverse_bits() & (self.every.load(Relaxed) - 1) == 0
    }

    /// Keeps the whole body of a reply, whose digest must be `sha256`.
    #[cold]
    pub fn keep(&self, body: Body, sha256: Option<[u8; 32]>) {
        let Ok(mut shelf) = self.shelf.try_lock() else { return };
        if shelf.retained.len() == STORED_MAX || shelf.bytes + body.bytes.len() > BYTES_MAX {
            self.thin(&mut shelf);
        }
        if self.is_chosen(body.number) && shelf.retained.len() < STORED_MAX {
            shelf.bytes += body.bytes.len();
            shelf.retained.push(StoredBody { body, sha256 });
        } else {
            shelf.give_back(body);
        }
    }

    /// The reply was none that is checked, or never ended.
    #[cold]
    pub fn give_back(&self, body: Body) {
        if let Ok(mut shelf) = self.shelf.try_lock() {
            shelf.give_back(body);
        }
    }

    /// Forgets every second one, at least.
    fn thin(&self, shelf: &mut Shelf) {
        let before = shelf.retained.len();
        while shelf.retained.len() == before && self.every.load(Relaxed) < 1 << 30 {
            let every = self.every.load(Relaxed) * 2;
            self.every.store(every, Relaxed);
            let mut at = 0;
            while at < shelf.retained.len() {
                if self.is_chosen(shelf.retained[at].body.number) {
                    at += 1;
                    continue;
                }
                let StoredBody { body, .. } = shelf.retained.swap_remove(at);
                shelf.bytes -= body.bytes.len();
                shelf.give_back(body);
            }
        }
    }

    /// Holds what was kept against what is expected.
    pub fn look(&self) -> Looked {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut looked = Looked { every: self.every.load(Relaxed).into(), ..Looked::default() };
        for StoredBody { body, sha256, .. } in &shelf.retained {
            if body.is_too_long {
                looked.too_long += 1;
                continue;
            }
            looked.checked += 1;
            if let Some(key) = self.fails(&body.bytes, sha256.as_ref()) {
                *looked.failed.entry(key.into()).or_default() += 1;
                if looked.example.is_empty() {
                    let shown = &body.bytes[..body.bytes.len().min(SHOWN)];
                    looked.example = format!("\"{}\"", shown.escape_ascii());
                }
            }
        }
        looked
    }

    /// The first check that a body fails.
    fn fails(&self, body: &[u8], own: Option<&[u8; 32]>) -> Option<&'static str> {
        let is_other = |wanted: &[u8; 32]| digest(&SHA256, body).as_ref() != wanted;
        if own.is_some_and(is_other) {
            return Some("expect_file");
        }
        if self.sha256.as_ref().is_some_and(is_other) {
            return Some("expect_sha256");
        }
        let text = String::from_utf8_lossy(body);
        let is_found = self.regex.as_ref().is_none_or(|regex| regex.is_match(&text));
        (!is_found).then_some("expect_regex")
    }
}

impl Shelf {
    fn give_back(&mut self, mut body: Body) {
        body.clear();
        self.free.push(body);
    }
}

fn with_room() -> Body {
    let mut bytes = vec![1; ROOM]; // touch the pages
    bytes.clear();
    Body { bytes, ..Body::default() }
}

fn sha256(text: &str) -> Result<Option<[u8; 32]>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    digits(text).map(Some).ok_or_else(|| {
        let fix = "give its 64 hexadecimal digits: curl -s URL | sha256sum";
        Fault::usage(format!("'{text}' is not a SHA-256"), "expect_sha256", fix)
    })
}

/// The digest that 64 hexadecimal digits say; `None`: they are not.
pub(crate) fn digits(text: &str) -> Option<[u8; 32]> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let are_digits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.filter(|_| are_digits)?.try_into().ok()
}

fn regex(text: &str) -> Result<Option<Regex>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    Regex::new(text).map(Some).map_err(|error| {
        let fix = "write it as for grep -E; (?s) lets . be a line's end too";
        Fault::usage(format!("'{text}' is not a regular expression: {error}"), "expect_regex", fix)
    })
}

#[cfg(test)]
mod tests;
