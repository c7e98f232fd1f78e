//! Flags that say what is asked for, and what a reply must be.

#![allow(clippy::doc_markdown)] // doc comments here are the text of --help, not Markdown

use sojourn_base::units;

use super::{count, replayed::speed};

/// What is asked for.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Requests")]
pub struct ContentArgs {
    /// Popularity of keys or paths: uniform, zipf:S, hot:SHARE,OF, order (one after another) [uniform]
    #[arg(long, value_name = "KIND")]
    pub popularity: Option<String>,
    /// Distinct keys (memcache, RESP), or numbers for {} in a path or query [10000]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub items: Option<u64>,
    /// Key length, bytes, as a distribution: 30, fb_key; at least the digits of --items [30]
    #[arg(long, value_name = "DIST", allow_hyphen_values = true)]
    pub key_size: Option<String>,
    /// Value size, bytes, as a distribution: 200, exponential:1k, fb_value [200]
    #[arg(long, value_name = "DIST", allow_hyphen_values = true)]
    pub value_size: Option<String>,
    /// Share of requests that are SETs, 0 to 1 [0]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub set_share: Option<f64>,
    /// Share of requests that are multi-GETs, 0 to 1 (memcache, RESP) [0]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub multiget_share: Option<f64>,
    /// Keys per multi-GET [10]
    #[arg(long, value_name = "COUNT")]
    pub multiget_keys: Option<u32>,
    /// HTTP: paths with commas between them; a comma ends a path only where the next begins with /. {} or
    /// {item} in one is replaced by a number below --items; may be given several times [the target's]
    #[arg(long, value_name = "PATHS")]
    pub paths: Option<Vec<String>>,
    /// HTTP: file with a path at the end of each line, used instead of --paths. --popularity order
    /// sends them in order; --arrivals trace:FILE,speed=N sends them at the times before them
    /// [none]
    #[arg(long, value_name = "FILE")]
    pub paths_file: Option<String>,
    /// HTTP: send the requests of a log that have --method, at their times, to its end or for
    /// --duration: an access log, JSON lines, CSV, HAR, or targets of vegeta at --rate. Values in
    /// queries become numbers; cookies and authorisation are not sent [none]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "paths_file", "popularity", "arrivals"])]
    pub replay: Option<String>,
    /// Go so many times as fast as the log of --replay, such as 2x [1x]
    #[arg(long, value_name = "FACTOR", requires = "replay", value_parser = speed)]
    pub speed: Option<f64>,
    /// HTTP: what is done to a log in --paths-file: method takes only requests of --method, numbers
    /// puts numbers in place of values in queries; --replay does both: method,numbers [none]
    #[arg(long, value_name = "WORDS")]
    pub log_form: Option<String>,
    /// HTTP: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS [GET]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// HTTP: a header, NAME: VALUE, with {item} as in --paths; may be given several times [none]
    #[arg(long, value_name = "HEADER")]
    pub header: Option<Vec<String>>,
    /// HTTP: body of each request. gRPC: its message as JSON (--option descriptor=FILE). With
    /// {item} as in --paths [none]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub body: Option<String>,
    /// HTTP, gRPC: file with the body of each request, sent unchanged [none]
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<String>,
    /// PostgreSQL: query, with {} or {item} as a number below --items ({} not within quotes; {{}}
    /// is a literal {}); may be given several times [SELECT 1]
    #[arg(long, value_name = "SQL", allow_hyphen_values = true)]
    pub query: Option<Vec<String>>,
    /// Credentials. HTTP: basic: or bearer:, PostgreSQL and RESP: password:, each followed by
    /// file:PATH or env:NAME. basic reads USER:PASSWORD there, bearer a token; they are never shown
    /// [none]
    #[arg(long, value_name = "WHERE")]
    pub auth: Option<String>,
    /// An option of the target's protocol, NAME=VALUE; may be given several times [none]
    #[arg(long, value_name = "NAME=VALUE", value_parser = option)]
    pub option: Option<Vec<(String, String)>>,
    /// Write every key once before the run, and check that it is stored
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub preload: Option<bool>,
}

/// What a reply must be.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Replies")]
pub struct ReplyArgs {
    /// HTTP: statuses that count as success, such as 200 or 200-299,404; none: 200-299 [none]
    #[arg(long, value_name = "LIST")]
    pub expect_status: Option<String>,
    /// HTTP, PostgreSQL: required body size of every reply, bytes; 0: any [0]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub expect_bytes: Option<u64>,
    /// HTTP, PostgreSQL: required SHA-256 of the body, checked after the run on an even sample of
    /// 200 to 400 replies; one difference makes the verdict unknown [none]
    #[arg(long, value_name = "HEX")]
    pub expect_sha256: Option<String>,
    /// HTTP, PostgreSQL: regular expression that must match the body, checked on the same sample
    /// [none]
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub expect_regex: Option<String>,
    /// HTTP: file with a path, body length and SHA-256 on each line, for all of --paths-file. The
    /// length of every reply is checked, and the content of the same sample [none]
    #[arg(long, value_name = "FILE")]
    pub expect_file: Option<String>,
    /// HTTP, PostgreSQL: accept empty bodies; without this option, more than 1 % of them make the
    /// verdict unknown
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub allow_empty: Option<bool>,
}

/// The paths of a list: `/a,b,/c` are `/a,b` and `/c`, because a comma is a sign like others in a path
/// (RFC 3986, 3.3).
pub(super) fn paths(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut all = Vec::new();
    while let Some(at) = rest.find(",/") {
        all.push(rest[..at].into());
        rest = &rest[at + 1..];
    }
    all.push(rest.into());
    all
}

fn option(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or(format!("'{text}' is not NAME=VALUE"))?;
    Ok((name.into(), value.into()))
}

fn bytes(text: &str) -> Result<u64, String> {
    units::parse_bytes(text).map_err(|fault| fault.what)
}
