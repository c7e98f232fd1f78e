//! gRPC, one message each way (unary calls), over [`super::http2`].
//!
//! A call is a success if its trailers say `grpc-status` 0 and one whole message came before them;
//! every other status is a failed request, and is counted by its name. A method that the server does not
//! have is reported as such. Messages are not compressed, and no deadline is sent: the job's `timeout` is
//! the client's own.
//! Source: gRPC over HTTP/2 (grpc/grpc, doc/PROTOCOL-HTTP2.md).

mod messages;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::http::Wish;
use super::http2::{self, ALPN, Block, Judge, WINDOW, WINDOW_PARAM};
use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind, http};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::content::Content;
use crate::protocols::sampled::Sampled;
use crate::protocols::status_counts::StatusCounts;

pub(super) const DESCRIPTOR: &str = "descriptor";
/// What a call sends, and what replaces its usual method.
const METHOD: &str = "POST";

struct Grpc {
    block: Block,
    /// What is sent, by item, each behind its prefix; one for all where they are alike.
    messages: Vec<Vec<u8>>,
    judge: Judge,
    window: u32,
    depth: usize,
}

impl Protocol for Grpc {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        self.block.push(asked.item, out);
        let message = self.messages.get(asked.item as usize).unwrap_or(&self.messages[0]);
        out.extend_from_slice(message);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        http2::decoder(&self.judge, self.window, self.depth)
    }

    fn request_bytes_max(&self) -> usize {
        let longest = self.messages.iter().map(Vec::len).max().unwrap_or(0);
        http2::framed(self.block.bytes_max() + longest)
    }

    fn sampled(&self) -> Option<&Sampled> {
        self.judge.wish.sampled.as_deref()
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn statuses(&self) -> Option<&StatusCounts> {
        Some(&self.judge.statuses)
    }
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "grpc",
        about: "unary gRPC calls, depth in flight on each connection; status and message of each reply are checked, messages on a sample",
        usage: "grpc://HOST:PORT/PACKAGE.SERVICE/METHOD, or grpcs:// over TLS",
        params: &[
            Param {
                name: "body_file",
                unit: "",
                about: "a file that holds the request's message, as protobuf encodes it; none: an empty message",
                default: "",
                range: "",
            },
            Param {
                name: "body",
                unit: "",
                about: "the request's message as JSON, which needs a descriptor; {item} is a number below items",
                default: "",
                range: "",
            },
            Param {
                name: DESCRIPTOR,
                unit: "",
                about: "file with a FileDescriptorSet (protoc --include_imports --descriptor_set_out) that has the method",
                default: "",
                range: "",
            },
            Param {
                name: "header",
                unit: "",
                about: "NAME: VALUE of the call's metadata, any number of them",
                default: "",
                range: "",
            },
            Param {
                name: "auth",
                unit: "",
                about: "basic: or bearer:, and where its secret is: file:PATH or env:NAME",
                default: "",
                range: "",
            },
            Param {
                name: "expect_bytes",
                unit: "bytes",
                about: "size a reply's message must have; 0: any",
                default: "0",
                range: ">= 0",
            },
            Param {
                name: "expect_sha256",
                unit: "",
                about: "digest of each message of a sample",
                default: "",
                range: "64 hexadecimal digits",
            },
            Param {
                name: "expect_regex",
                unit: "",
                about: "what each message of a sample contains",
                default: "",
                range: "",
            },
            WINDOW_PARAM,
        ],
        needs: &[],
        source: "grpc/grpc, doc/PROTOCOL-HTTP2.md",
    },
    schemes: &[Scheme::stream("grpc", 50051), Scheme::secured("grpcs", 443, ALPN)],
    options: &[DESCRIPTOR, WINDOW],
    is_opaque: true,
    wishes: &http::WISHES,
    depth: http2::DEPTH,
    settle,
    items,
    build,
    #[cfg(test)]
    case: Some(tests::case),
    ..PLAIN
};

/// The method is the target's path; what only HTTP can be asked is refused.
fn settle(job: &mut Job, target: &Target) -> Result<(), Fault> {
    let usual = Job::default();
    let is_method = |path: &str| {
        let mut words = path.split('/');
        let named = |word: Option<&str>| word.is_some_and(|word| !word.is_empty());
        words.next() == Some("") && named(words.next()) && named(words.next()) && words.count() == 0
    };
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'?' && byte != b'#';
    if !is_method(&target.path) || !target.path.bytes().all(is_plain) {
        let what = format!("'{}' names no method", target.path);
        let fix = "write grpc://HOST:PORT/PACKAGE.SERVICE/METHOD, such as \
                   grpc://127.0.0.1:50051/grpc.health.v1.Health/Check";
        return Err(Fault::usage(what, "target", fix));
    }
    let own = vec![target.path.clone()];
    let keys = [
        ("paths", job.paths != usual.paths && job.paths != own),
        ("paths_file", !job.paths_file.is_empty()),
        ("method", job.method != usual.method && job.method != METHOD),
        ("expect_status", !job.expect_status.is_empty()),
    ];
    if let Some((key, _)) = keys.into_iter().find(|(_, is_set)| *is_set) {
        let what = format!("{} has no {key}", target.scheme.name);
        let fix = "leave it out: the target names the method, and grpc-status 0 is the success";
        return Err(Fault::usage(what, key, fix));
    }
    (job.paths, job.method) = (own, METHOD.into());
    Ok(())
}

/// One, or as many as there are numbers in requests.
fn items(job: &Job) -> u64 {
    if http::requests::is_numbered(job, "") { job.items } else { 1 }
}

fn build(job: &Job, target: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let input = http2::headers(job, target)?;
    let is_set = |name: &str| job.header.iter().any(|it| it.to_ascii_lowercase().starts_with(name));
    let mut fields = http2::pseudo(METHOD, target, &target.path, &input);
    for (name, value) in [("te", "trailers"), ("content-type", "application/grpc")] {
        fields.push((name.into(), value.into()));
    }
    let own = |name: &str| match name {
        "host" | "content-type" => false,
        "accept" => is_set("accept:"),
        _ => true,
    };
    fields.extend(input.iter().filter(|(name, _)| own(name)).cloned());
    let wish = Wish::of(job, Arc::new([]))?;
    Ok(Arc::new(Grpc {
        block: Block::of(&fields)?,
        messages: messages::of(job, &target.path, KIND.option(job, DESCRIPTOR))?,
        judge: Judge {
            wish,
            are_calls: true,
            statuses: Arc::new(StatusCounts::of(http2::words())),
        },
        window: http2::window(KIND.option(job, WINDOW))?,
        depth: job.depth as usize,
    }))
}

#[cfg(test)]
mod tests;
