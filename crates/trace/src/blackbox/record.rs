//! From the ring's bytes, each a `struct slow` of `bpf/slow.h`, to what was seen.

use super::memory::Slow;
use crate::reconstruct::bytes::{u32_at, u64_at};
use crate::reconstruct::layout::slow;

/// A signal that stops or ends a process of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When, `CLOCK_MONOTONIC`, ns.
    pub at_ns: u64,
    /// Its number.
    pub number: u32,
    /// Thread that sent it.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// The process that it was sent to.
    pub target: u32,
}

/// One thing that came through the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// A slow request, and the name of its thread, which may have ended since.
    Slow(Slow, String),
    /// A signal to the service.
    Signal(Signal),
}

/// Reads one; `None`: it is cut short.
pub fn read(bytes: &[u8]) -> Option<Came> {
    if bytes.len() < slow::SIZE {
        return None;
    }
    let (start_ns, tid) = (u64_at(bytes, slow::START_NS), u32_at(bytes, slow::TID));
    let (tgid, word) = (u32_at(bytes, slow::TGID), u32_at(bytes, slow::BYTES));
    let port = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let comm = bytes[slow::COMM..slow::SIZE].split(|&byte| byte == 0).next().unwrap_or_default();
    let comm = String::from_utf8_lossy(comm).into_owned();
    if u32_at(bytes, slow::KIND) == 0 {
        let one = Slow {
            total_ns: u64_at(bytes, slow::TOTAL_NS),
            start_ns,
            tid,
            tgid,
            bytes: word,
            peer_port: port(slow::PEER_PORT),
            port: port(slow::PORT),
            cut: None,
        };
        return Some(Came::Slow(one, comm));
    }
    Some(Came::Signal(Signal {
        at_ns: start_ns,
        number: word,
        tid,
        tgid,
        comm,
        target: u32_at(bytes, slow::TARGET),
    }))
}
