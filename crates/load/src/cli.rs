//! The command line: every flag is a key of the job, with dashes for underscores.
//!
//! A job may come from a file or stdin (`--job`); flags given beside it override its keys.

#![allow(clippy::doc_markdown)] // doc comments here are the text of --help, not Markdown

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use sojourn_base::{Fault, units};

use crate::job::Job;

mod examples;
mod job_file;
mod job_keys;
mod requests;

pub use requests::{ContentArgs, ReplyArgs};

/// Offers load that does not wait for replies, and tells how long users would have waited.
///
/// Requests are due at times drawn before the run; every latency counts from the time a request was
/// due, not from when it was sent. The result says whether it can be believed.
#[derive(Parser, Debug, Default)]
#[command(name = "sojourn-load", version, after_help = examples::EXAMPLES, max_term_width = 100)]
pub struct Args {
    /// Where requests go: memcache://HOST:PORT, memcache+udp://, http://HOST:PORT/, https://, resp:// (or
    /// redis://USER@HOST:PORT/DATABASE), postgres://USER@HOST:PORT/DATABASE, echo://, or null: (no network); a unix socket:
    /// SCHEME://unix:/SOCKET, http://unix:/SOCKET:/PATH
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,

    #[command(flatten)]
    /// What is offered.
    pub load: LoadArgs,
    #[command(flatten)]
    /// What is asked for.
    pub content: ContentArgs,
    #[command(flatten)]
    /// What a reply must be.
    pub reply: ReplyArgs,
    #[command(flatten)]
    /// How it is sent.
    pub client: ClientArgs,
    #[command(flatten)]
    /// What is believed.
    pub verdict: VerdictArgs,
    #[command(flatten)]
    /// What is written.
    pub output: OutputArgs,
}

/// What is offered.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Offered load, requests/s: 50k, steps:10k@5s,20k@5s, ramp:1k..50k, sine:20k,5k,10s [1k]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Length of the measured part [10s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Length of the load before it, not measured [1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warmup: Option<String>,
    /// How long replies are waited for after the last request was due; auto: 2s, or --timeout where that
    /// is given and longer [auto]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub drain: Option<String>,
    /// Longest wait for a reply after its request was sent: then it has failed, and over TCP its
    /// connection is replaced; auto: 10 times the QoS bound, or 1 s without one [auto]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub timeout: Option<String>,
    /// When the warm-up begins, ns of CLOCK_MONOTONIC: generators with the same begin at one instant; 0:
    /// as soon as it is ready [0]
    #[arg(long, value_name = "NS")]
    pub start_at: Option<u64>,
    /// Arrival process: poisson, fixed, gamma:CV, lognormal:CV, pareto:SHAPE, zipf:S, onoff:ON,OFF,
    /// fb_ia, trace:FILE[,speed=N] [poisson]
    #[arg(long, value_name = "KIND")]
    pub arrivals: Option<String>,
    /// What each arrival is: none, one request; playback:chunks=N,every=TIME, a session of a play list and N
    /// chunks, of which --rate counts each [none]
    #[arg(long, value_name = "KIND")]
    pub sessions: Option<String>,
    /// Seed of every draw; 0: a fresh one, which the result records [0]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Closed loop, as fast as it goes: every connection keeps DEPTH requests in flight
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub find_max: Option<bool>,
    /// Rate of a probe client beside the load, requests/s on a connection of its own; 0: none [0]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub probe_rate: Option<f64>,
    /// Most requests of a run with --raw or --find-max: memory is taken for all before it starts;
    /// other runs have no limit, beyond 8M requests they take some 600 MB at most [64M]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub requests_max: Option<u64>,
}

/// How it is sent.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Client")]
pub struct ClientArgs {
    /// Connections, over all threads [16]
    #[arg(long, short, value_name = "COUNT")]
    pub connections: Option<u32>,
    /// Most requests in flight per connection, over HTTP/2 its streams; more wait, inside the stopwatch;
    /// 0: 1, over HTTP/2 and UDP 16 [0]
    #[arg(long, visible_alias = "streams", value_name = "COUNT")]
    pub depth: Option<u32>,
    /// Threads; each drives its share of connections and rate [1]
    #[arg(long, short, value_name = "COUNT")]
    pub threads: Option<u32>,
    /// Addresses of this machine that connections come from in turn, when one has too few ports:
    /// 127.0.0.2,127.0.0.3 [none]
    #[arg(long, value_name = "ADDRS")]
    pub source: Option<String>,
    /// CPUs to pin threads to: 1 or 1,3-5 [not pinned]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub cpus: Option<String>,
    /// File by which clients on the same CPUs take turns; needs --wait yield and --cpus [none]
    #[arg(long, value_name = "FILE")]
    pub turns: Option<String>,
    /// CPUs of the server: how idle they were is in the result; it separates an overloaded server
    /// from an overloaded client [none]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub server_cpus: Option<String>,
    /// Process of the server: what keeps its threads from its CPUs is logged; needs --server-cpus
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// CPUs of a synthetic service (sojourn-serve); its outages count as the instrument's [none]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub instrument_cpus: Option<String>,
    /// TLS: certificates of issuers, or of the server itself, in PEM; none: those that this machine
    /// trusts [none]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<String>,
    /// TLS: name that the server is asked for (SNI), and that its certificate must have [the target's]
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// TLS: accept any certificate
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub insecure: Option<bool>,
    /// TLS: the client's own certificate, for a server that asks for one, in PEM; needs --key [none]
    #[arg(long, value_name = "FILE")]
    pub cert: Option<String>,
    /// TLS: private key of --cert, in PEM [none]
    #[arg(long, value_name = "FILE")]
    pub key: Option<String>,
    /// epoll, io_uring, or auto: io_uring where the kernel allows it [auto]
    #[arg(long, value_name = "KIND")]
    pub transport: Option<String>,
    /// spin; yield: spin, and let others on the CPU go first; sleep; sleep:TIME: wake up to TIME later, for several events at once, which costs less
    /// CPU and makes times longer; auto: spin if every thread has a CPU of its own [auto]
    #[arg(long, value_name = "HOW")]
    pub wait: Option<String>,
}

/// What is believed.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArgs {
    /// QoS quantile, such as 0.99; needs --qos-bound. The bound is decided by the error of the sample, 5 %
    /// on either side: p99 needs 563 requests or more [none]
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    pub qos_quantile: Option<f64>,
    /// QoS bound on the time from due to done; needs --qos-quantile [none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub qos_bound: Option<String>,
    /// One of several runs that are judged together: verdict and quantiles are those of its own sample,
    /// without its error
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub pooled: Option<bool>,
    /// A request is timely if sent within this of being due; auto: 50us, or 1 % of the bound if that
    /// is more, and the TIME of sleep:TIME [auto]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub timely_within: Option<String>,
    /// A gap between two polls longer than this is an outage of the client [1ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub outage_over: Option<String>,
    /// Outages may exclude this share of the requests before the verdict is unknown [0.5]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub excluded_share_max: Option<f64>,
    /// Stops of the server's CPUs may disturb this share of the requests; 1: any [0.5]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub disturbed_share_max: Option<f64>,
    /// Outages may take this share of the time before the verdict is unknown; 1: any [1]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub outage_share_max: Option<f64>,
}

/// What is written.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the result as JSON, beside the table; -: to stdout, instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write an HdrHistogram interval log: a fortieth of the run each, at most a second; requests in outages
    /// too with Tag=all
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<String>,
    /// Write each second while the run goes on, as a line of JSON: what a kill leaves
    #[arg(long, value_name = "FILE")]
    pub seconds: Option<String>,
    /// Write raw requests as Parquet
    #[arg(long, value_name = "FILE")]
    pub raw: Option<String>,
    /// Most raw requests in the file; beyond it a uniform sample [1M]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub raw_max: Option<u64>,
    /// While load runs, on stderr: a line for people, JSON, or nothing; auto: people on a terminal
    #[arg(long, value_name = "FORM", default_value = "auto")]
    pub progress: ProgressForm,
    /// Time between two such lines, 100ms or more; one more comes when the load has ended
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    pub progress_every: u64,
    /// Read the job as JSON; -: from stdin. Flags override its keys
    #[arg(long, value_name = "FILE")]
    pub job: Option<PathBuf>,
    /// Say whether the job is right, and end; nothing is sent
    #[arg(long)]
    pub check: bool,
    /// Print what this program knows, and the JSON Schemas of job and result
    #[arg(long)]
    pub describe: bool,
    /// Print completions for a shell
    #[arg(long, value_name = "SHELL")]
    pub completions: Option<Shell>,
}

/// The form of the progress display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// For people on a terminal, else none.
    #[default]
    Auto,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
    /// None.
    Off,
}

fn count(text: &str) -> Result<u64, String> {
    let count = units::parse_count(text).map_err(|fault| fault.what)?;
    if count < 0.0 || count.fract() != 0.0 || count > 9e15 {
        return Err(format!("'{text}' is not a whole number of 0 or more"));
    }
    Ok(count as u64)
}

/// How long between two lines of progress, ns.
fn every(text: &str) -> Result<u64, String> {
    const LEAST_NS: u64 = 100_000_000;
    let every_ns = units::parse_ns(text).map_err(|fault| fault.what)?;
    if every_ns < LEAST_NS {
        return Err(format!(
            "'{text}' is too short: a line costs the load a wake-up, 100ms at least"
        ));
    }
    Ok(every_ns)
}

fn rate(text: &str) -> Result<f64, String> {
    units::parse_count(text).map_err(|fault| fault.what)
}

impl Args {
    /// The job that file and flags describe together.
    pub fn job(&self) -> Result<Job, Fault> {
        let mut job = match &self.output.job {
            Some(path) => job_file::read(path)?,
            None => Job::default(),
        };
        self.override_keys(&mut job);
        if job.target.is_empty() {
            return Err(Fault::usage(
                "there is no target",
                "target",
                "name one, such as memcache://127.0.0.1:11211, or null:",
            ));
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests;
