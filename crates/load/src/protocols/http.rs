//! HTTP/1.1 with keep-alive over a set of paths: any method, headers and body, `GET` by default.
//!
//! Life of a reply: a head (parsed when it is complete), then a body of the length that the head says,
//! which comes in chunks, or which ends with the connection. 200 to 299 is a hit, or the statuses that
//! the job expects; else 404 and 410 are a miss, everything else an error status.
//! A server that says `Connection: close` is believed. Source: RFC 9112.

mod auth;
mod body;
mod expected;
pub(super) mod flaws;
mod head;
pub(super) mod lists;
pub(crate) mod log;
mod paths;
mod reader;
pub(super) mod requests;
mod statuses;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind};
use crate::job::Job;
use crate::job::secrets;
use crate::job::target::{Scheme, Target};
use crate::protocols::content::Content;
use crate::protocols::sampled::Sampled;
use crate::protocols::status_counts::StatusCounts;
pub(super) use paths::Paths;
use reader::Reader;
pub(super) use reader::Wish;
use requests::Form;
use statuses::Statuses;

/// Methods that do the same once and twice. Source: RFC 9110, 9.2.2.
const IDEMPOTENT: [&str; 5] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"];
pub(super) const ENCODING: &str = "accept_encoding";

struct Http {
    paths: Paths<Form>,
    wish: Wish,
    statuses: Arc<StatusCounts>,
    is_idempotent: bool,
}

impl Protocol for Http {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        let (form, number) = self.paths.form(asked.item);
        form.push(number, out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader::new(self.wish.clone(), Arc::clone(&self.statuses)))
    }

    fn request_bytes_max(&self) -> usize {
        self.paths.all().map(Form::bytes_max).max().unwrap_or(0)
    }

    fn sampled(&self) -> Option<&Sampled> {
        self.wish.sampled.as_deref()
    }

    fn leaves_alone_what_follows_the_last(&self) -> bool {
        true // RFC 9112, 9.6
    }

    fn may_repeat(&self) -> bool {
        self.is_idempotent // RFC 9112, 9.3.1
    }

    fn statuses(&self) -> Option<&StatusCounts> {
        Some(&self.statuses)
    }
}

/// Whether requests of `method` do the same once and twice.
pub(crate) fn is_idempotent(method: &str) -> bool {
    IDEMPOTENT.contains(&method)
}

/// Whether an empty body is no reply to `job`: it asks for one, and does not say that there may be none.
pub(crate) fn needs_bodies(job: &Job) -> bool {
    let are_bodiless = Statuses::parse(&job.expect_status).is_ok_and(|it| it.are_bodiless());
    job.method == "GET" && !job.allow_empty && !are_bodiless
}

/// What requests are made of, and replies held against.
pub(super) const PARAMS: [Param; 11] = [
    Param {
        name: "paths",
        unit: "",
        about: "paths to request; {} and {item} are replaced by a number below items",
        default: "/",
        range: "begin with /",
    },
    Param {
        name: "method",
        unit: "",
        about: "of each request",
        default: "GET",
        range: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    },
    Param {
        name: "header",
        unit: "",
        about: "NAME: VALUE, any number of them; {item} as in paths",
        default: "",
        range: "",
    },
    Param {
        name: "body",
        unit: "",
        about: "body to send; {item} as in paths; body_file sends a file unchanged",
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
        name: "expect_status",
        unit: "",
        about: "statuses that count as success",
        default: "200-299",
        range: "200..599",
    },
    Param {
        name: "expect_bytes",
        unit: "bytes",
        about: "required body size of a reply; 0: any",
        default: "0",
        range: ">= 0",
    },
    Param {
        name: "expect_file",
        unit: "",
        about: "length and digest of the body of each path of a file",
        default: "",
        range: "",
    },
    Param {
        name: "expect_sha256",
        unit: "",
        about: "digest of each body of a sample",
        default: "",
        range: "64 hexadecimal digits",
    },
    Param {
        name: "expect_regex",
        unit: "",
        about: "regular expression that matches each body of a sample",
        default: "",
        range: "",
    },
    Param {
        name: ENCODING,
        unit: "",
        about: "codings that replies may have, such as gzip; they are not decoded",
        default: "",
        range: "",
    },
];

/// Keys of the job that are about requests and replies of HTTP.
pub(super) const WISHES: [&str; 12] = [
    "paths_file",
    "log_form",
    "method",
    "header",
    "body",
    "body_file",
    "auth",
    "expect_status",
    "expect_sha256",
    "expect_regex",
    "expect_file",
    "allow_empty",
];

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "http",
        about: "HTTP/1.1 with keep-alive; status and body length of each reply are checked, bodies on a sample",
        usage: "http://HOST:PORT/PATH or https://HOST:PORT/PATH; of a unix socket, http://unix:/SOCKET:/PATH",
        params: &PARAMS,
        needs: &[],
        source: "RFC 9112",
    },
    schemes: &[Scheme::stream("http", 80), Scheme::secured("https", 443, "http/1.1")],
    options: &[ENCODING],
    is_opaque: true,
    wishes: &WISHES,
    settle,
    items,
    build,
    ..PLAIN
};

/// The paths are the job's own, or the one of its target.
pub(super) fn settle(job: &mut Job, target: &Target) -> Result<(), Fault> {
    job.paths.iter().try_for_each(|path| secrets::refuse_query(path, "paths"))?;
    if !job.paths_file.is_empty() {
        job.items = log::Log::of_job(job)?.lines.len() as u64;
        return log::refuse_paths(job, target);
    }
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

/// Paths, those with a number in their requests counted once per number.
pub(super) fn items(job: &Job) -> u64 {
    if !job.paths_file.is_empty() {
        return job.items; // `settle` has counted the lines
    }
    let of = |path: &String| if requests::is_numbered(job, path) { job.items } else { 1 };
    job.paths.iter().map(of).sum()
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
    let paths = Paths::of(job, |paths| requests::forms(job, target, paths))?;
    let wish = Wish::of(job, paths.bodies())?;
    let statuses = Arc::new(StatusCounts::of(reader::words()));
    Ok(Arc::new(Http { paths, wish, statuses, is_idempotent: is_idempotent(&job.method) }))
}
