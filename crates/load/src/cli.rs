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
mod replayed;
mod requests;

pub use requests::{ContentArgs, ReplyArgs};

/// Offers open-loop load to a server and reports the latency that users would see.
///
/// The times of all requests are drawn before the run. Latency counts from the planned time of a
/// request, not from when it was sent. The result says whether it is valid.
#[derive(Parser, Debug, Default)]
#[command(name = "sojourn-load", version, after_help = examples::EXAMPLES, max_term_width = 100)]
pub struct Args {
    /// The target: memcache://HOST:PORT, memcache+udp://, http://HOST:PORT/, https://, resp:// (or
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
    /// Length of the warm-up before it, which is not measured [1s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warmup: Option<String>,
    /// How long to wait for replies after the last request was due; auto: 2s, or --timeout if that
    /// is longer [auto]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub drain: Option<String>,
    /// Timeout of a request after it was sent. The request has then failed, and a TCP connection is
    /// replaced; auto: 10 times the QoS bound, or 1 s without one [auto]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub timeout: Option<String>,
    /// Start of the warm-up, in ns of CLOCK_MONOTONIC, so that several generators start together;
    /// 0: as soon as it is ready [0]
    #[arg(long, value_name = "NS")]
    pub start_at: Option<u64>,
    /// Arrival process: poisson, fixed, gamma:CV, lognormal:CV, pareto:SHAPE, zipf:S, onoff:ON,OFF,
    /// fb_ia, trace:FILE[,speed=N] [poisson]
    #[arg(long, value_name = "KIND")]
    pub arrivals: Option<String>,
    /// Turn each arrival into a session: none, one request; playback:chunks=N,every=TIME, a play
    /// list and N chunks; --rate counts every request [none]
    #[arg(long, value_name = "KIND")]
    pub sessions: Option<String>,
    /// Random seed; 0: a new one, which the result records [0]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Closed loop at full speed: every connection has DEPTH requests in flight
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub find_max: Option<bool>,
    /// Rate of a probe client beside the load, requests/s on a connection of its own; 0: none [0]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub probe_rate: Option<f64>,
    /// Limit of requests with --raw or --find-max, which allocate memory for all before the start.
    /// Other runs have no limit; beyond 8M requests they need 600 MB at most [64M]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub requests_max: Option<u64>,
}

/// How it is sent.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Client")]
pub struct ClientArgs {
    /// Number of connections, over all threads [16]
    #[arg(long, short, value_name = "COUNT")]
    pub connections: Option<u32>,
    /// Limit of requests in flight per connection (HTTP/2: streams). Further requests wait, and the
    /// wait is part of their latency; 0: 1, with HTTP/2 and UDP 16 [0]
    #[arg(long, visible_alias = "streams", value_name = "COUNT")]
    pub depth: Option<u32>,
    /// Number of threads; each has its share of connections and rate [1]
    #[arg(long, short, value_name = "COUNT")]
    pub threads: Option<u32>,
    /// Local addresses to connect from in turn, if one has too few ports: 127.0.0.2,127.0.0.3 [none]
    #[arg(long, value_name = "ADDRS")]
    pub source: Option<String>,
    /// CPUs to pin threads to: 1 or 1,3-5 [not pinned]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub cpus: Option<String>,
    /// Shared file with which clients on the same CPUs alternate; needs --wait yield and --cpus
    /// [none]
    #[arg(long, value_name = "FILE")]
    pub turns: Option<String>,
    /// CPUs of the server. Their idle time goes into the result; it separates an overloaded server
    /// from an overloaded client [none]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub server_cpus: Option<String>,
    /// Process of the server: log what stops its threads on its CPUs; needs --server-cpus
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// CPUs of a synthetic service (sojourn-serve); its outages count as the instrument's [none]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub instrument_cpus: Option<String>,
    /// TLS: certificates of trusted issuers, or of the server itself, in PEM; none: the issuers
    /// that this machine trusts [none]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<String>,
    /// TLS: server name to request (SNI) and to require in the certificate [the target's]
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// TLS: accept any certificate
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub insecure: Option<bool>,
    /// TLS: the client's certificate in PEM, for a server that requires one; needs --key [none]
    #[arg(long, value_name = "FILE")]
    pub cert: Option<String>,
    /// TLS: private key of --cert, in PEM [none]
    #[arg(long, value_name = "FILE")]
    pub key: Option<String>,
    /// epoll, io_uring, or auto: io_uring if the kernel allows it [auto]
    #[arg(long, value_name = "KIND")]
    pub transport: Option<String>,
    /// How to wait. spin: poll without a break. yield: spin, but let other tasks on the CPU run
    /// first. sleep: wait in the kernel. sleep:TIME: wake up to TIME later, for several events at
    /// once; this costs less CPU and makes latencies longer. auto: spin if every thread has its own
    /// CPU [auto]
    #[arg(long, value_name = "HOW")]
    pub wait: Option<String>,
}

/// What is believed.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArgs {
    /// QoS quantile, such as 0.99; needs --qos-bound. The test of the bound has an error of 5 % on
    /// either side, so p99 needs 563 requests or more [none]
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    pub qos_quantile: Option<f64>,
    /// QoS bound on the time from the planned arrival to the reply; needs --qos-quantile [none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub qos_bound: Option<String>,
    /// Mark this as one of several runs that are judged together: report verdict and quantiles of
    /// its sample without sampling error
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub pooled: Option<bool>,
    /// A request is timely if it is sent within this time after it was due; auto: 50us, or 1 % of
    /// the bound if that is more, plus the TIME of sleep:TIME [auto]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub timely_within: Option<String>,
    /// A gap between two polls longer than this is an outage of the client [1ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub outage_over: Option<String>,
    /// Largest share of requests that outages may exclude before the verdict is unknown [0.8]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub excluded_share_max: Option<f64>,
    /// Largest share of requests that stops of the server's CPUs may disturb; 1: any [0.5]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub disturbed_share_max: Option<f64>,
    /// Largest share of the time that outages may take before the verdict is unknown; 1: any [1]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub outage_share_max: Option<f64>,
}

/// What is written.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Also write the result as JSON; -: to stdout instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write an HdrHistogram interval log, with intervals of a fortieth of the run, at most a
    /// second; lines with Tag=all include requests in outages
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<String>,
    /// Write a line of JSON every second during the run, so that a killed run leaves results
    #[arg(long, value_name = "FILE")]
    pub seconds: Option<String>,
    /// Write raw requests as Parquet
    #[arg(long, value_name = "FILE")]
    pub raw: Option<String>,
    /// Most raw requests in the file; beyond it a uniform sample [1M]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub raw_max: Option<u64>,
    /// Progress on stderr: text, JSON, or nothing; auto: text on a terminal
    #[arg(long, value_name = "FORM", default_value = "auto")]
    pub progress: ProgressForm,
    /// Time between two lines of progress, 100ms or more; one more line follows at the end
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    pub progress_every: u64,
    /// Answer Prometheus at ADDRESS:PORT/metrics during the run; a PORT alone is of 127.0.0.1 [none]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Read the job as JSON; -: from stdin. Options override its keys
    #[arg(long, value_name = "FILE")]
    pub job: Option<PathBuf>,
    /// Check the job and exit; nothing is sent
    #[arg(long)]
    pub check: bool,
    /// Print the values of all options and the JSON Schemas of job and result
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
        self.replay(&mut job)?;
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
