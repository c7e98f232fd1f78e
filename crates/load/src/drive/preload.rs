//! Every item set once before the run, then read back: a run never starts on a server that lost some.
//!
//! Requests go in batches on one blocking connection, a few ahead of the replies: this is
//! not measured, only quick. Over TLS the greeting follows the handshake.

mod stream;

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_workload::plan::Op;

use crate::drive::ready::files_needed;
use crate::job::address::Address;
use crate::job::shards::Shards;
use crate::job::target::{Carrier, Target};
use crate::plan::resolve::Resolved;
use crate::protocols::Outcome;
use crate::protocols::complaints;
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::{self, Asked, Decoder, GET, Protocol, Reply};
use crate::transports::hello::Greeting;
use crate::transports::sockets::{self, files};
use crate::transports::tls::Secure;

use stream::{Stream, secured, unready};

/// How long one batch may take.
const BATCH_WITHIN: Duration = Duration::from_secs(5);
/// Requests per batch: the replies of all that are ahead fit into any socket's buffer.
const BATCH: u32 = 128;
/// Batches sent before their replies are read: the server works while the next one is made.
const AHEAD: usize = 3;
/// Bytes per batch, unless one request is longer.
const BATCH_BYTES: usize = 32 * 1024;

/// Sets all items of the job and checks that they are there. Stops early if `stop` is set.
pub fn preload(resolved: &Resolved, stop: &AtomicBool) -> Result<(), Fault> {
    let target = over_stream(&resolved.target);
    let protocol = protocols::build(&resolved.job, &target)?;
    let Some(set) = protocols::kind_of(&target).operation("set") else { return Ok(()) };
    let shards = Shards::new(target.servers(), resolved.job.items);
    for (addresses, shard) in target.addresses()?.into_iter().zip(0..) {
        let mut pipe = Pipe::open(addresses, &target, protocol.as_ref(), resolved)?;
        let items = match shards.count() {
            1 => Items::First(resolved.job.items as u32),
            _ => Items::These(shards.items_of(shard).collect()),
        };
        fill(resolved, &mut pipe, set, &items, stop)?;
    }
    Ok(())
}

/// Sets what one server holds, and reads it back.
fn fill(
    resolved: &Resolved,
    pipe: &mut Pipe<'_>,
    set: Op,
    which: &Items,
    stop: &AtomicBool,
) -> Result<(), Fault> {
    let items = which.count();
    let refused = pipe.ask_all(set, which, stop)?;
    let at = |(item, reply): (u32, Reply)| {
        format!("{}, item {item}: {}", resolved.job.target, reply.outcome.name())
    };
    if let Some(first) = refused.first {
        let what = format!("the server did not store {} of {items} items", refused.count);
        let fix =
            "raise the server's memory or item size limit (memcached -m, -I), or ask for less";
        return Err(pipe.refused(what, at(first), fix));
    }
    let lost = pipe.ask_all(GET, which, stop)?;
    if let Some(first) = lost.first {
        let what =
            format!("the server lost {} of {items} items after it had stored them", lost.count);
        let fix =
            "raise the server's memory (memcached -m, redis maxmemory), or ask for fewer --items";
        return Err(pipe.refused(what, at(first), fix));
    }
    Ok(())
}

/// Datagrams may be lost, so items are always set over a stream, on the same port.
fn over_stream(target: &Target) -> Target {
    if !target.is_datagram() {
        return target.clone();
    }
    let mut schemes = protocols::kind_of(target).schemes.iter();
    let stream = schemes.find(|scheme| scheme.carrier == Carrier::Stream);
    Target { scheme: stream.unwrap_or(target.scheme), ..target.clone() }
}

/// Which items a server holds, in the order in which they are set.
enum Items {
    /// So many, from the first on.
    First(u32),
    /// These.
    These(Vec<u32>),
}

impl Items {
    fn count(&self) -> u32 {
        match self {
            Self::First(count) => *count,
            Self::These(items) => items.len() as u32,
        }
    }

    fn nth(&self, nth: u32) -> u32 {
        match self {
            Self::First(_) => nth,
            Self::These(items) => items[nth as usize],
        }
    }
}

/// Replies that were no hits.
#[derive(Debug, Default)]
struct Failed {
    count: u64,
    first: Option<(u32, Reply)>,
}

struct Pipe<'a> {
    stream: Stream,
    protocol: &'a dyn Protocol,
    decoder: Box<dyn Decoder>,
    target: &'a Target,
    secure: Option<&'a Secure>,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl<'a> Pipe<'a> {
    fn open(
        addresses: Vec<Address>,
        target: &'a Target,
        protocol: &'a dyn Protocol,
        resolved: &'a Resolved,
    ) -> Result<Self, Fault> {
        let is_plain = resolved.secure.is_none();
        let hello = if is_plain { protocol.hello() } else { Greeting::default() };
        let mut servers = [addresses];
        let socket = sockets::connect(&mut servers, false, &resolved.sources, 1, &hello)
            .map_err(|fault| files::numbered(fault, files_needed(resolved, protocol)))?
            .remove(0);
        socket
            .set_nonblocking(false)
            .and_then(|()| socket.set_read_timeout(Some(BATCH_WITHIN)))
            .and_then(|()| socket.set_write_timeout(Some(BATCH_WITHIN)))
            .map_err(|error| unready(&error, target))?;
        let stream = match &resolved.secure {
            None => Stream::Plain(socket),
            Some(secure) => secured(socket, secure, protocol, (target, &servers[0][0]))?,
        };
        let decoder = protocol.decoder();
        let buffer = vec![0; 256 * 1024];
        let secure = resolved.secure.as_ref();
        Ok(Self { stream, protocol, decoder, target, secure, out: Vec::new(), buffer })
    }

    /// The fault `what` with the server's own notice and its fix, where there is one; else with `fix`.
    fn refused(&self, what: String, at: String, fix: &str) -> Fault {
        let heard = self.protocol.notices().map(ServerNotices::collected).unwrap_or_default();
        let Some(words) = heard.complaints.first() else { return Fault::failed(what, at, fix) };
        let fix =
            complaints::fix(words).unwrap_or("look its words up in the server's documentation");
        Fault::failed(format!("{what}: it says {words}"), at, fix)
    }

    /// The fault of a connection that is of no use any more.
    fn broken(&self, error: &io::Error) -> Fault {
        let place = self.target.place();
        if let Some(fault) = self.secure.and_then(|secure| secure.refused(error, &place)) {
            return fault; // a server of TLS 1.3 refuses a client after its handshake
        }
        let what = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("the server did not answer all of them within {} s", BATCH_WITHIN.as_secs())
            }
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => "the server closed the connection".into(),
            _ => error.to_string(),
        };
        let fix = "check that the server runs, speaks the target's protocol and may be written to";
        let what = format!("the items could not be preloaded: {what}");
        self.refused(what, place, fix)
    }

    /// Asks `op` of all items; answers which replies were no hits.
    fn ask_all(&mut self, op: Op, which: &Items, stop: &AtomicBool) -> Result<Failed, Fault> {
        let items = which.count();
        let mut failed = Failed::default();
        let mut open = 0..0; // asked, not yet answered
        while open.start < items && (open.start < open.end || !stop.load(Relaxed)) {
            while open.end < items && open.len() < AHEAD * BATCH as usize && !stop.load(Relaxed) {
                open.end = self.ask(op, open.end, which)?;
            }
            self.read_replies(op, which, &mut open, &mut failed)?;
        }
        Ok(failed)
    }

    /// Sends one batch that begins at `first`; answers where the next one begins.
    fn ask(&mut self, op: Op, first: u32, which: &Items) -> Result<u32, Fault> {
        let (mut next, items) = (first, which.count());
        self.out.clear();
        while next < items && next - first < BATCH && self.out.len() < BATCH_BYTES {
            let item = which.nth(next);
            self.protocol.encode(Asked { op, item, id: item }, &mut self.out);
            next += 1;
        }
        let sent = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        sent.map_err(|error| self.broken(&error))?;
        Ok(next)
    }

    /// Reads once, and takes what was answered from the start of `open`.
    fn read_replies(
        &mut self,
        op: Op,
        which: &Items,
        open: &mut Range<u32>,
        failed: &mut Failed,
    ) -> Result<(), Fault> {
        let read = loop {
            match self.stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| self.broken(&error))?,
            }
        };
        if read == 0 {
            return Err(self.broken(&io::ErrorKind::UnexpectedEof.into()));
        }
        let mut bytes = &self.buffer[..read];
        while !bytes.is_empty() && open.start < open.end {
            let (item, reply_bytes) = (which.nth(open.start), bytes);
            let step = self.decoder.read(Asked { op, item, id: item }, bytes);
            bytes = &bytes[step.used..];
            let Some(reply) = step.reply else { continue };
            open.start += 1;
            if reply.outcome == Outcome::Garbled {
                let line = reply_bytes.split(|byte| b"\r\n".contains(byte)).next();
                let why = format!("an unknown reply, {}", complaints::shown(line.unwrap_or(&[])));
                return Err(self.broken(&io::Error::new(io::ErrorKind::InvalidData, why)));
            }
            if reply.outcome != Outcome::Hit {
                failed.count += 1;
                failed.first.get_or_insert((item, reply));
            }
        }
        Ok(())
    }
}
