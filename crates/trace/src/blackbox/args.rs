//! Options of the black box.

use std::path::PathBuf;

use clap::Args;
use sojourn_base::{Fault, units};

use super::asked::{self, Tail};

/// Requests in memory: 48 bytes each.
const ROOM: std::ops::RangeInclusive<usize> = 100..=2_000_000;

/// Of `sojourn-trace --ring`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Black box")]
pub struct RingArgs {
    /// Watch the service until stopped, and dump the slowest requests of the last minutes with their causes. A dump
    /// is written when a request takes longer than --over, when a --trigger holds, on SIGUSR1, and when the service
    /// ends. With --cost, windows are traced beside it, and a dump has their stages.
    #[arg(long, conflicts_with_all = [
        "who", "sample", "all", "all_stages", "json", "records", "chrome", "blame", "flame", "folded", "windows",
        "hook_cost",
    ])]
    pub ring: bool,
    /// With --ring: every process of this name, in place of --pid; also those that start later.
    #[arg(long, value_name = "NAME", requires = "ring")]
    pub comm: Option<String>,
    /// With --ring: every process of a control group, by its name, its path or a container's id.
    #[arg(long, value_name = "GROUP", requires = "ring")]
    pub cgroup: Option<String>,
    /// With --ring: a dump has the requests of so many last seconds: `60s`, `10min`.
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "ring")]
    pub last: String,
    /// With --ring: dump when a request took longer: `5ms`.
    #[arg(long, value_name = "TIME", requires = "ring")]
    pub over: Option<String>,
    /// With --ring: dump when a quantile of the last 10 s is over a bound: `p99.9>5ms`. May be repeated.
    #[arg(long, value_name = "RULE", requires = "ring")]
    pub trigger: Vec<String>,
    /// With --ring: so long after a dump, no request and no quantile starts another one.
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "ring")]
    pub pause: String,
    /// With --ring: folder for dumps, which only its owner may write into.
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/sojourn-ring", requires = "ring")]
    pub dumps: PathBuf,
    /// With --ring: dumps at most; the oldest are removed.
    #[arg(long, value_name = "N", default_value_t = 20, requires = "ring")]
    pub dumps_max: usize,
    /// With --ring: size of all dumps at most.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", requires = "ring")]
    pub dumps_size: String,
    /// With --ring: slow requests in memory at most; the slowest of each second stay.
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "ring")]
    pub room: usize,
    /// With --ring: serve metrics for Prometheus here: a port of 127.0.0.1, or ADDRESS:PORT.
    #[arg(long, value_name = "PORT", requires = "ring")]
    pub listen: Option<String>,
    /// With --ring: write messages to this file; SIGHUP opens it anew.
    #[arg(long, value_name = "FILE", requires = "ring")]
    pub log: Option<PathBuf>,
    /// With --ring: print a unit for systemd that runs this command, and end.
    #[arg(long, requires = "ring")]
    pub systemd: bool,
}

/// What the options ask for, checked and in ns and bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// How far back memory reaches, ns.
    pub last_ns: u64,
    /// A slower request starts a dump, ns.
    pub over_ns: Option<u64>,
    /// Quantiles over a bound start one.
    pub tails: Vec<Tail>,
    /// Not before so long after the last one, ns.
    pub pause_ns: u64,
    /// Bytes of all dumps.
    pub dumps_bytes: u64,
}

impl RingArgs {
    /// Reads them.
    ///
    /// # Errors
    /// A value is nonsense; the fault has its option.
    pub fn asked(&self) -> Result<Asked, Fault> {
        let span = |text: &str, flag: &str, (from, to): (u64, u64)| {
            let ns = units::parse_ns(text).map_err(|fault| fault.within(flag))?;
            if (from * units::NS_PER_S..=to * units::NS_PER_S).contains(&ns) {
                return Ok(ns);
            }
            let what = format!("'{text}' is not a time from {from} s to {to} s");
            Err(Fault::usage(what, flag, "give a time such as 60s or 10min"))
        };
        if !ROOM.contains(&self.room) {
            let what = format!("there cannot be room for {} requests", self.room);
            return Err(Fault::usage(what, "--room", "give 100 to 2000000"));
        }
        if !(1..=10_000).contains(&self.dumps_max) {
            let what = format!("{} is no number of dumps", self.dumps_max);
            return Err(Fault::usage(what, "--dumps-max", "give 1 to 10000"));
        }
        let bytes = units::parse_bytes(&self.dumps_size);
        Ok(Asked {
            last_ns: span(&self.last, "--last", (1, 3600))?,
            over_ns: self.over.as_deref().map(|text| asked::bound(text, "--over")).transpose()?,
            tails: self.trigger.iter().map(|text| Tail::read(text)).collect::<Result<_, _>>()?,
            pause_ns: span(&self.pause, "--pause", (0, 86_400))?,
            dumps_bytes: bytes.map_err(|fault| fault.within("--dumps-size"))?,
        })
    }
}
