//! HTTP/1.1 with keep-alive over a set of paths: any method, headers and body, `GET` unless told.
//!
//! Life of a reply: a head (parsed when it is complete), then a body, whose length the head told,
//! which comes in chunks, or which ends with the connection. 200 to 299 is a hit, or the statuses that
//! the job expects; else 404 and 410 are a miss, everything else an error status.
//! A server that says `Connection: close` is believed. Source: RFC 9112.

mod auth;
mod body;
mod expected;
mod head;
mod log;
mod reader;
mod requests;
mod statuses;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind};
use crate::content::Content;
use crate::job::Job;
use crate::sampled::Sampled;
use crate::target::{Scheme, Target};
use expected::Wanted;
use reader::{Reader, Wish};
use requests::Form;
use statuses::Statuses;

const ENCODING: &str = "accept_encoding";

struct Http {
    /// Requests that are the same for all items.
    fixed: Vec<Form>,
    /// Requests with the item's number in them.
    numbered: Vec<Form>,
    /// Of a log: which of the fixed requests each item is. Empty: there is none.
    log: Vec<u32>,
    items: u32,
    wish: Wish,
}

impl Protocol for Http {
    /// Items below the number of fixed requests are these; the others go over the numbered ones, each
    /// `items` long, as [`items`] counts them.
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        let item = asked.item as usize;
        if let Some(&nth) = self.log.get(item) {
            self.fixed[nth as usize].push(asked.item, out);
            return;
        }
        if let Some(form) = self.fixed.get(item) {
            form.push(0, out);
            return;
        }
        let nth = item - self.fixed.len();
        let form = &self.numbered[nth / self.items as usize % self.numbered.len()];
        form.push((nth % self.items as usize) as u32, out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader::new(self.wish.clone()))
    }

    fn request_bytes_max(&self) -> usize {
        self.fixed.iter().chain(&self.numbered).map(Form::bytes_max).max().unwrap_or(0)
    }

    fn sampled(&self) -> Option<&Sampled> {
        self.wish.sampled.as_deref()
    }
}

/// Whether an empty body is no reply to `job`: it asks for one, and does not say that there may be none.
pub(crate) fn needs_bodies(job: &Job) -> bool {
    let are_bodiless = Statuses::parse(&job.expect_status).is_ok_and(|it| it.are_bodiless());
    job.method == "GET" && !job.allow_empty && !are_bodiless
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "http",
        about: "HTTP/1.1 with keep-alive; status and body length of each reply are checked, bodies on a sample",
        usage: "http://HOST:PORT/PATH or https://HOST:PORT/PATH; of a unix socket, http://unix:/SOCKET:/PATH",
        params: &[
            Param {
                name: "paths",
                unit: "",
                about: "what is asked for; {} and {item} are replaced by a number below items",
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
                about: "text that is sent; {item} as in paths; body_file sends a file as it is",
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
                about: "statuses that are a success",
                default: "200-299",
                range: "200..599",
            },
            Param {
                name: "expect_bytes",
                unit: "bytes",
                about: "body size a reply must have; 0: any",
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
                about: "what each body of a sample contains",
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
        ],
        needs: &[],
        source: "RFC 9112",
    },
    schemes: &[Scheme::stream("http", 80), Scheme::secured("https", 443, "http/1.1")],
    options: &[ENCODING],
    is_opaque: true,
    settle,
    items,
    build,
    ..PLAIN
};

/// The paths are the job's own, or the one of its target.
fn settle(job: &mut Job, target: &Target) -> Result<(), Fault> {
    if !job.paths_file.is_empty() {
        job.items = log::Log::read(&job.paths_file)?.lines.len() as u64;
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
fn items(job: &Job) -> u64 {
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

/// The requests that are alike for all items, and those with a number in them.
fn split(forms: Vec<Form>, job: &Job) -> (Vec<Form>, Vec<Form>) {
    let (mut fixed, mut numbered) = (Vec::new(), Vec::new());
    for (form, path) in forms.into_iter().zip(&job.paths) {
        let list = if requests::is_numbered(job, path) { &mut numbered } else { &mut fixed };
        list.push(form);
    }
    (fixed, numbered)
}

/// What the body of each item must be; empty: not told.
fn wanted(job: &Job, log: &log::Log) -> Result<Arc<[Wanted]>, Fault> {
    if job.expect_file.is_empty() {
        return Ok(Arc::new([]));
    }
    if log.paths.is_empty() {
        let what = "expect_file is about the paths of a file, and none is given";
        return Err(Fault::usage(what, "expect_file", "name paths_file too"));
    }
    let of_path = expected::read(&job.expect_file, &log.paths)?;
    Ok(log.lines.iter().map(|&nth| of_path[nth as usize]).collect())
}

fn build(job: &Job, target: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let log = match job.paths_file.as_str() {
        "" => log::Log::default(),
        file => log::Log::read(file)?,
    };
    let paths = if log.paths.is_empty() { &job.paths } else { &log.paths };
    let forms = requests::forms(job, target, paths)?;
    let (fixed, numbered) =
        if log.paths.is_empty() { split(forms, job) } else { (forms, Vec::new()) };
    let wish = Wish {
        statuses: Arc::new(Statuses::parse(&job.expect_status)?),
        bytes: job.expect_bytes,
        is_head: job.method == "HEAD",
        sampled: Sampled::of(job)?.map(Arc::new),
        bodies: wanted(job, &log)?,
    };
    Ok(Arc::new(Http { fixed, numbered, log: log.lines, items: job.items as u32, wish }))
}
