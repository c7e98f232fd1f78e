//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  M/M/1 with a mean service time of 200 µs, on CPU 1, memcache protocol:
    sojourn-serve --service exponential:200us --cpus 1

  Two servers, log-normal service times, and a stall of 100 ms each second:
    sojourn-serve --service lognormal:1ms,2 --servers 2 --stall 100ms/1s --port 11311

  Two services, of which the first calls the second for each request:
    sojourn-serve --service exponential:1ms --port 7002 --mode sleep &
    sojourn-serve --service exponential:1ms --port 7001 --mode sleep --call 127.0.0.1:7002

The first line on stdout is JSON with the address; the last one, after SIGTERM, is the report.";

/// Synthetic service with known service times.
#[derive(Clone, Debug, Parser)]
#[command(name = "sojourn-serve", version, after_help = EXAMPLES)]
pub struct Args {
    /// What it does.
    #[command(flatten)]
    pub settings: Settings,
    /// Write the report to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print kinds and parameters as JSON, and exit
    #[arg(long)]
    pub describe: bool,
}

/// How the service waits for what comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Never yields its CPU, so arrival times are exact
    #[default]
    Spin,
    /// Sleeps until a request arrives or a reply is due
    Sleep,
}

/// Everything that decides what the service does.
#[derive(Clone, Debug, Parser, Serialize)]
pub struct Settings {
    /// memcache or echo
    #[arg(long, default_value = "memcache")]
    pub protocol: String,
    /// Service time, a distribution of times: fixed:200us, exponential:200us, lognormal:1ms,2,
    /// bimodal:10us,1ms,0.01
    #[arg(long, default_value = "fixed:0s", value_name = "DIST")]
    pub service: String,
    /// Number of servers that share one queue (M/M/n)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub servers: u32,
    /// Give writes no service time, so that preloading is quick
    #[arg(long)]
    pub free_writes: bool,
    /// After its service time each request asks this service, of the memcache protocol, and waits for the reply:
    /// HOST:PORT. Meanwhile the next request is served
    #[arg(long, default_value = "", value_name = "HOST:PORT")]
    pub call: String,
    /// Longest time until that reply. If it is late, or the call fails, the client is disconnected
    #[arg(long, default_value = "1s", value_name = "TIME")]
    pub call_timeout: String,
    /// Stalls without service, LENGTH/PERIOD: 100ms/1s
    #[arg(long, default_value = "", value_name = "L/P")]
    pub stall: String,
    /// How to wait: spin or sleep
    #[arg(long, value_enum, default_value_t)]
    pub mode: Mode,
    /// Random seed of the service times; 0: a new one, which the report has
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0: the kernel chooses
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// CPU to run on; empty: not pinned
    #[arg(long, default_value = "", value_name = "CPUS")]
    pub cpus: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self::parse_from(["sojourn-serve"])
    }
}
