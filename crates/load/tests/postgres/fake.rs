//! A small PostgreSQL: it lets people in, prepares, and answers every query with one row.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use sojourn_base::clock::{Clock, Monotonic};

use super::super::mirror::listen;

pub const PASSWORD: &str = "open sesame";

/// How it wants the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Trust,
    Clear,
    Scram,
    Gss,
}

/// What the server does to its clients.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub way: Way,
    /// From so many requests on it answers nothing for a while, on all connections; 0: never.
    pub stall_after: u64,
    pub stall: Duration,
    /// Every so-manieth request is refused; 0: none.
    pub refuse_every: u64,
    /// Every reply is without a row.
    pub is_empty: bool,
    /// All clients share one connection behind it, as with a pooler, so a second one prepares in vain.
    pub is_pooler: bool,
}

pub const GOOD: Manner = Manner {
    way: Way::Trust,
    stall_after: 0,
    stall: Duration::ZERO,
    refuse_every: 0,
    is_empty: false,
    is_pooler: false,
};

#[derive(Default)]
pub struct Seen {
    pub requests: AtomicU64,
    pub parsed: AtomicU64,
    pub connections: AtomicU64,
    /// Start and end of the stall, ns of the monotonic clock; who holds the lock stalls all.
    pub stall: Mutex<Option<(u64, u64)>>,
}

/// Starts one that ends with the process; its port, and what it sees.
pub fn start(manner: Manner) -> (u16, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    let port = listen(move |stream| {
        serve(stream, manner, &shared);
    });
    (port, seen)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// The body of the next message, and its type; the first one has none.
fn next(stream: &mut TcpStream, is_first: bool) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head[usize::from(is_first)..]).ok()?;
    let length = u32::from_be_bytes(head[1..].try_into().ok()?) as usize;
    let mut body = vec![0; length.checked_sub(4)?];
    stream.read_exact(&mut body).ok()?;
    Some((head[0], body))
}

fn serve(mut stream: TcpStream, manner: Manner, seen: &Seen) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (_, startup) = next(&mut stream, true)?;
    assert!(startup.starts_with(b"\0\x03\0\0user\0me\0database\0shop\0"), "{startup:?}");
    seen.connections.fetch_add(1, SeqCst);
    if !let_in(&mut stream, manner.way)? {
        let refused = b"SFATAL\0C28P01\0Mpassword authentication failed for user \"me\"\0\0";
        return stream.write_all(&message(b'E', refused)).ok();
    }
    let welcome = [message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), message(b'Z', b"I")];
    stream.write_all(&welcome.concat()).ok()?;
    let mut out = Vec::new();
    let mut parameters = 0;
    let mut has_failed = false;
    loop {
        let (kind, body) = next(&mut stream, false)?;
        match kind {
            b'P' => {
                has_failed = seen.parsed.fetch_add(1, SeqCst) > 0 && manner.is_pooler;
                parameters = u8::from(body.windows(2).any(|two| two == b"$1"));
                let there = b"SERROR\0C42P05\0Mprepared statement \"s0\" already exists\0\0";
                out.extend(if has_failed { message(b'E', there) } else { message(b'1', b"") });
            }
            b'D' if !has_failed => {
                out.extend(message(
                    b't',
                    &[&[0, parameters], &[0, 0, 0, 23][..parameters as usize * 4]].concat(),
                ));
                out.extend(message(b'n', b""));
            }
            b'B' => {
                let digits =
                    body.len() - 2 - body.iter().rev().skip(2).position(|b| !b.is_ascii_digit())?;
                has_failed = answer(&body[digits..body.len() - 2], manner, seen, &mut out, true);
            }
            b'Q' => {
                let digits = body.iter().rev().skip(1).position(|b| !b.is_ascii_digit())?;
                let end = body.len() - 1;
                answer(&body[end - digits..end], manner, seen, &mut out, false);
                out.extend(message(b'Z', b"I"));
            }
            b'E' if !has_failed => out.extend(message(b'C', tag(manner))),
            b'S' => out.extend(message(b'Z', b"I")),
            _ => {}
        }
        if b"QS".contains(&kind) {
            stream.write_all(&std::mem::take(&mut out)).ok()?;
        }
    }
}

fn tag(manner: Manner) -> &'static [u8] {
    if manner.is_empty { b"SELECT 0\0" } else { b"SELECT 1\0" }
}

/// A row that says the number, or a complaint; whether it is one.
fn answer(number: &[u8], manner: Manner, seen: &Seen, out: &mut Vec<u8>, is_bound: bool) -> bool {
    let nth = seen.requests.fetch_add(1, SeqCst) + 1;
    if manner.stall_after > 0 {
        let mut stall = seen.stall.lock().unwrap();
        if nth >= manner.stall_after && stall.is_none() {
            let start = Monotonic.now_ns();
            thread::sleep(manner.stall);
            *stall = Some((start, Monotonic.now_ns()));
        }
    }
    if manner.refuse_every > 0 && nth.is_multiple_of(manner.refuse_every) {
        out.extend(message(b'E', b"SERROR\0C40001\0Mcould not serialize access\0\0"));
        return true;
    }
    if is_bound {
        out.extend(message(b'2', b""));
    }
    if !manner.is_empty {
        let value = [b"row ", number].concat();
        let length = (value.len() as u32).to_be_bytes();
        out.extend(message(b'D', &[&[0, 1], &length[..], &value].concat()));
    }
    if !is_bound {
        out.extend(message(b'C', tag(manner)));
    }
    false
}

/// Whether who asks proves that it knows the password; `None`: it went away.
fn let_in(stream: &mut TcpStream, way: Way) -> Option<bool> {
    let ask = |stream: &mut TcpStream, method: u32, more: &[u8]| {
        stream.write_all(&message(b'R', &[&method.to_be_bytes(), more].concat())).ok()
    };
    match way {
        Way::Trust => Some(true),
        Way::Gss => {
            ask(stream, 7, b"")?;
            next(stream, false).map(|_| false)
        }
        Way::Clear => {
            ask(stream, 3, b"")?;
            Some(next(stream, false)? == (b'p', [PASSWORD, "\0"].concat().into_bytes()))
        }
        Way::Scram => {
            ask(stream, 10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")?;
            let (_, first) = next(stream, false)?;
            let bare =
                first.strip_prefix(b"SCRAM-SHA-256\0".as_slice())?[4..].strip_prefix(b"n,,")?;
            let bare = std::str::from_utf8(bare).ok()?;
            let nonce = format!("{}more", bare.strip_prefix("n=,r=")?);
            let challenge = format!("r={nonce},s={},i=4096", STANDARD.encode("salt"));
            ask(stream, 11, challenge.as_bytes())?;
            let (_, last) = next(stream, false)?;
            let last = String::from_utf8(last).ok()?;
            let (unproved, proof) = last.split_once(",p=")?;
            assert_eq!(unproved, format!("c=biws,r={nonce}"));
            let all = [bare, &challenge, unproved].join(",");
            let mut key = [0; 32];
            let rounds = std::num::NonZeroU32::new(4096)?;
            pbkdf2::derive(
                pbkdf2::PBKDF2_HMAC_SHA256,
                rounds,
                b"salt",
                PASSWORD.as_bytes(),
                &mut key,
            );
            let stored = digest::digest(&digest::SHA256, &signed(&key, "Client Key"));
            let signature = signed(stored.as_ref(), &all);
            let proof = STANDARD.decode(proof).ok()?;
            let client: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
            if digest::digest(&digest::SHA256, &client).as_ref() != stored.as_ref() {
                return Some(false);
            }
            let server = signed(&signed(&key, "Server Key"), &all);
            ask(stream, 12, format!("v={}", STANDARD.encode(server)).as_bytes())?;
            Some(true)
        }
    }
}

fn signed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}
