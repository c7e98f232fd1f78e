//! The command line.

use std::path::PathBuf;

use clap::Parser;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  A forward pass of a neural network for each GET /q/{n}, two workers:
    sojourn-query --work img-dnn --threads 2 --port 8080

  How long one query takes one thread, with an interval, without a socket:
    sojourn-query --work ordered-map --measure 2

The first line on stdout is JSON with the address; the last one, after SIGTERM, is the report.";

/// A service that answers queries by real work, with one queue and N named workers.
#[derive(Clone, Debug, Parser)]
#[command(name = "sojourn-query", version, after_help = EXAMPLES)]
pub struct Args {
    /// What it does.
    #[command(flatten)]
    pub settings: Settings,
    /// Answer queries in this thread for this many seconds, write the report, and exit
    #[arg(long, value_name = "S")]
    pub measure: Option<f64>,
    /// Write the report to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print kinds and parameters as JSON, and exit
    #[arg(long)]
    pub describe: bool,
}

/// Everything that decides what the service does.
#[derive(Clone, Debug, Parser, Serialize)]
pub struct Settings {
    /// img-dnn, ordered-map, silo or planted
    #[arg(long, default_value = "img-dnn")]
    pub work: String,
    /// Number of workers; their threads are called worker-0, worker-1, …
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub threads: u32,
    /// Number of different queries: 0 to N − 1
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub queries: u64,
    /// Random seed of all data; the same seed gives the same answers on every machine
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// img-dnn: width of each of the three hidden layers
    #[arg(long, default_value_t = 1152, value_name = "N")]
    pub hidden: u32,
    /// ordered-map: number of items of 200 bytes, default 1000000; silo: items per warehouse,
    /// default 100000
    #[arg(long, value_name = "N")]
    pub items: Option<u64>,
    /// ordered-map: operations per query, default 200; silo: transactions per query, default 4
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// silo: number of warehouses, with ten districts each
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub warehouses: u64,
    /// planted: scales, locks, writes or streams
    #[arg(long, default_value = "scales", value_name = "WORD")]
    pub does: String,
    /// planted: CPU time of a query, µs
    #[arg(long, default_value_t = 1000, value_name = "US")]
    pub busy_us: u64,
    /// planted: waiting time of a query, µs
    #[arg(long, default_value_t = 1000, value_name = "US")]
    pub wait_us: u64,
    /// planted, writes: folder of its files
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub folder: PathBuf,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0: the kernel chooses
    #[arg(long, default_value_t = 0)]
    pub port: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self::parse_from(["sojourn-query"])
    }
}
