//! What is said to the server: encode requests, decode replies. No sockets, no clocks.
//!
//! A decoder is fed bytes as they come, at any split, and never keeps more than a line of them.
//! One file per protocol; `KINDS` is the table.

pub mod echo;
mod http;
mod line;
mod memcache;
mod null;
mod resp;
mod udp;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_workload::plan::Op;

use crate::content::Content;
use crate::job::Job;
use crate::marks::Outcome;
use crate::target::Target;

pub(crate) use udp::id_of as datagram_id;

/// Read one item; also the only operation of protocols that have but one.
pub const GET: Op = Op(0);
/// Write one item.
pub const SET: Op = Op(1);
/// Read several items at once.
pub const MULTIGET: Op = Op(2);
/// The operations' words in raw files, by number.
pub const OPERATIONS: [&str; 3] = ["get", "set", "multiget"];

/// What one request asks for; its reply is checked against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The operation.
    pub op: Op,
    /// The key or path number.
    pub item: u32,
    /// The request's own number, for protocols that carry one.
    pub id: u32,
}

/// How a reply ended, and what it carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// A hit, or why it is none.
    pub outcome: Outcome,
    /// Body bytes it carried.
    pub body_bytes: u32,
    /// The server closes the connection after it, and says so.
    pub last: bool,
}

/// What a decoder made of the bytes it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes used; all of them unless the reply ended earlier.
    pub used: usize,
    /// The reply, if it ended. After `Garbled` the connection cannot be used any more.
    pub reply: Option<Reply>,
}

/// One protocol, set up for one job.
pub trait Protocol: Send + Sync {
    /// Appends the bytes of one request.
    fn encode(&self, asked: Asked, out: &mut Vec<u8>);
    /// A decoder for one connection.
    fn decoder(&self) -> Box<dyn Decoder>;
    /// Upper bound on the bytes of one request.
    fn request_bytes_max(&self) -> usize;
}

/// Reads the replies of one connection, in order.
pub trait Decoder: Send {
    /// Reads on in `bytes`, which is not empty, for the reply to `asked`.
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step;
    /// The server ended the connection in order. A reply that ends so, and was begun, is complete.
    fn ended(&mut self, _: Asked) -> Option<Reply> {
        None
    }
    /// Forgets a reply read in part: the connection is new.
    fn reset(&mut self);
}

/// One entry of the table.
pub struct ProtocolKind {
    /// Name, parameters, source.
    pub kind: Kind,
    /// Sets it up for a job.
    pub build: Build,
}

/// Sets a protocol up for a job; refuses what the job asks and the protocol cannot.
pub type Build = fn(&Job, &Target, &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault>;

/// Every protocol, in reading order.
pub const KINDS: &[ProtocolKind] =
    &[memcache::KIND, http::KIND, resp::KIND, echo::KIND, null::KIND];

/// The protocol that `target` speaks, set up for `job`.
pub fn build(job: &Job, target: &Target) -> Result<Arc<dyn Protocol>, Fault> {
    let content = Arc::new(Content::new(job.items, &job.key_size, &job.value_size)?);
    let name = target.scheme.protocol();
    let entry = KINDS.iter().find(|entry| entry.kind.name == name);
    let entry = entry.expect("every scheme names a protocol of the table");
    let protocol = (entry.build)(job, target, &content)?;
    if target.is_datagram() {
        return Ok(Arc::new(udp::Udp { inner: protocol }));
    }
    Ok(protocol)
}

impl Step {
    /// All bytes were used and the reply goes on.
    pub(crate) fn more(used: usize) -> Self {
        Self { used, reply: None }
    }

    /// The reply ended after `used` bytes.
    pub(crate) fn end(used: usize, outcome: Outcome, body_bytes: u32) -> Self {
        Self { used, reply: Some(Reply { outcome, body_bytes, last: false }) }
    }
}

#[cfg(test)]
mod tests;
