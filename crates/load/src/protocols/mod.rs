//! The words of each protocol: encode requests, decode replies. No sockets, no clocks.
//!
//! A decoder is fed bytes as they come, at any split, and never keeps more than a line of them.
//! One file per protocol; `KINDS` is the table.

pub(crate) mod complaints;
pub mod content;
pub mod echo;
mod grpc;
pub(crate) mod http;
#[cfg(not(fuzzing))]
mod http2;
#[cfg(fuzzing)]
pub mod http2;
mod interleaved;
mod key_value;
mod line;
mod memcache;
mod null;
mod of_job;
mod outcome;
mod postgres;
pub(crate) mod protocol_sniff;
mod resp;
pub mod sampled;
mod secret;
pub mod server_notices;
pub mod status_counts;
mod udp;
mod wishes;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_workload::plan::Op;

use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::content::Content;
use crate::protocols::sampled::Sampled;
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::status_counts::StatusCounts;
use crate::transports::hello::Greeting;

pub use interleaved::Interleaved;
pub use outcome::Outcome;
pub(crate) use udp::id_of as datagram_id;

/// The usual operation of any protocol: it reads one item.
pub const GET: Op = Op(0);

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
    /// Bytes used; all of them unless the reply ended earlier, or another one goes on.
    pub used: usize,
    /// Whose they are, by the request's own number, where replies interleave; `None`: those of the
    /// oldest request in flight, or of the connection itself.
    pub request: Option<u32>,
    /// The reply, if it ended. After `Garbled` the connection cannot be used any more, unless it says
    /// whose reply it is.
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
    /// What is sent when a connection opens.
    fn hello(&self) -> Greeting {
        Greeting::default()
    }
    /// Bodies of replies that are looked at after the run; `None`: nothing is expected of them.
    fn sampled(&self) -> Option<&Sampled> {
        None
    }
    /// Where decoders put notices of the server beside its replies; `None`: nowhere.
    fn notices(&self) -> Option<&ServerNotices> {
        None
    }
    /// Whether replies on one connection interleave: then each decoder has [`Decoder::interleaved`].
    fn interleaves(&self) -> bool {
        false
    }
    /// Whether a server that says it closes a connection after a reply leaves alone what was sent behind it,
    /// so that it may be sent again.
    fn leaves_alone_what_follows_the_last(&self) -> bool {
        false
    }
    /// Whether all requests may be sent again if their connection ends before a reply begins: they do the
    /// same once and twice, and a server may end a connection that idles while one is on its way.
    fn may_repeat(&self) -> bool {
        false
    }
    /// Statuses of replies that were no success, by name; `None`: they are not counted.
    fn statuses(&self) -> Option<&StatusCounts> {
        None
    }
}

/// Reads the replies of one connection: in order, or those that interleave in any.
pub trait Decoder: Send {
    /// Reads on in `bytes`, which is not empty, for the reply to `asked`. Where replies interleave it
    /// knows itself what was asked, and may be given no bytes: what it read may have ended several.
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step;
    /// The server ended the connection in order. A reply that ends so, and was begun, is complete.
    fn ended(&mut self, _: Asked) -> Option<Reply> {
        None
    }
    /// Whether `bytes`, which nobody asked for, say no more than that the server ends an idle connection.
    fn is_farewell(&self, _bytes: &[u8]) -> bool {
        false
    }
    /// Whether the reply that ended last said that, to a request that was on its way.
    fn was_farewell(&self) -> bool {
        false
    }
    /// That request is not sent again: what the reply said was its failure.
    fn has_failed_by_farewell(&self) {}
    /// Whether the reply being read has no end but that of the connection.
    fn is_open_ended(&self) -> bool {
        false
    }
    /// Forgets a reply read in part: the connection is new.
    fn reset(&mut self);
    /// What it does beside reading where replies interleave.
    fn interleaved(&mut self) -> Option<&mut dyn Interleaved> {
        None
    }
}

/// One operation of a protocol; its number is its place in the table.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its word in raw files.
    pub name: &'static str,
    /// The job's key for its share of requests, or a protocol's own option; the first operation,
    /// which takes the rest, has none.
    pub share: &'static str,
}

/// One entry of the table: all that the program knows of a protocol. A new one names what it has and
/// takes the rest from [`PLAIN`].
#[expect(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct ProtocolKind {
    /// Name, parameters, source.
    pub kind: Kind,
    /// How targets name it.
    pub schemes: &'static [Scheme],
    /// What it can do, the usual first.
    pub operations: &'static [Operation],
    /// Whether a target may name several servers that share the keys.
    pub shards: bool,
    /// Whether only the server knows what a reply holds: then bodies that are empty or change are reported,
    /// and the job says what it expects of them.
    pub is_opaque: bool,
    /// Whether a target may name who asks.
    pub has_user: bool,
    /// Whether a target may name something on the server: a path, a method, a database.
    pub has_path: bool,
    /// Keys of the job that only some protocols read, of which this is one.
    pub wishes: &'static [&'static str],
    /// Most requests in flight on a connection where the job does not say.
    pub depth: u32,
    /// Which of its parameters no other protocol has: they are given with the job's `option`.
    pub options: &'static [&'static str],
    /// Puts into the job what only this protocol reads from it and the target.
    pub settle: fn(&mut Job, &Target) -> Result<(), Fault>,
    /// How many items a job can ask for.
    pub items: fn(&Job) -> u64,
    /// Sets it up for a job.
    pub build: Build,
    /// A stream of replies and what becomes of them, for the suite that runs over all protocols.
    #[cfg(test)]
    pub(crate) case: Option<fn() -> tests::Case>,
}

impl AsRef<Kind> for ProtocolKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Sets a protocol up for a job; refuses what the job asks and the protocol cannot.
pub type Build = fn(&Job, &Target, &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault>;

/// The rest of an entry: one operation, no options, the job's `items`.
pub const PLAIN: ProtocolKind = ProtocolKind {
    kind: null::KIND.kind,
    schemes: &[],
    operations: &[Operation { name: "get", share: "" }],
    shards: false,
    is_opaque: false,
    has_user: false,
    has_path: true,
    wishes: &[],
    depth: 1,
    options: &[],
    settle: |_, _| Ok(()),
    items: |job| job.items,
    build: null::KIND.build,
    #[cfg(test)]
    case: None,
};

/// Every protocol, in reading order.
pub const KINDS: &[ProtocolKind] = &[
    memcache::KIND,
    http::KIND,
    http2::KIND,
    grpc::KIND,
    resp::KIND,
    postgres::KIND,
    echo::KIND,
    null::KIND,
];

/// Reads a target of any protocol.
pub fn target(text: &str) -> Result<Target, Fault> {
    let schemes: Vec<&'static Scheme> = KINDS.iter().flat_map(|entry| entry.schemes).collect();
    Target::parse(text, &schemes)
}

/// The protocol that `target` speaks.
pub fn kind_of(target: &Target) -> &'static ProtocolKind {
    let entry = KINDS.iter().find(|entry| entry.schemes.contains(target.scheme));
    entry.expect("every scheme is one of a protocol in the table")
}

/// The protocol of a job's target.
pub fn kind_of_job(job: &Job) -> Result<&'static ProtocolKind, Fault> {
    target(&job.target).map(|target| kind_of(&target)).map_err(|fault| fault.within("target"))
}

/// The protocol that `target` speaks, set up for `job`.
pub fn build(job: &Job, target: &Target) -> Result<Arc<dyn Protocol>, Fault> {
    let content = Arc::new(Content::new(job.items, &job.key_size, &job.value_size)?);
    let protocol = (kind_of(target).build)(job, target, &content)?;
    if target.is_datagram() {
        return Ok(Arc::new(udp::Udp { inner: protocol }));
    }
    Ok(protocol)
}

impl Step {
    /// All bytes were used and the reply goes on.
    pub(crate) fn more(used: usize) -> Self {
        Self { used, request: None, reply: None }
    }

    /// The reply ended after `used` bytes.
    pub(crate) fn end(used: usize, outcome: Outcome, body_bytes: u32) -> Self {
        let reply = Some(Reply { outcome, body_bytes, last: false });
        Self { used, request: None, reply }
    }
}

#[cfg(test)]
mod tests;
