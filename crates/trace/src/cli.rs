//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use sojourn_base::{Fault, units};

use crate::attach::how::How;
use crate::blackbox::args::RingArgs;
use crate::diff::args::{self as diff_args, DiffArgs};
use crate::judge::verdict::Bounds;
use crate::reconstruct::window::judge::LONGEST_S;
use crate::times::args::TimesArgs;

/// Shows where the time of each request goes in a running TCP server, without changing it.
///
/// Attaches to memcached, NGINX, Redis or any other server that reads requests from TCP sockets,
/// with all its threads and child processes. It splits the time of requests into stages: from the
/// wire through the kernel, the event loop and the service to the reply. By default it traces in
/// random windows, which costs the service 2 % of its CPU time. The real cost is measured. Needs root, or `CAP_BPF`,
/// `CAP_PERFMON`, `CAP_NET_ADMIN` and `CAP_SYS_PTRACE`.
#[derive(Clone, Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[command(name = "sojourn-trace", version, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct Args {
    /// Instead of a trace: what compares traces.
    #[command(subcommand)]
    pub instead: Option<Instead>,
    /// Process to trace; its children are traced too.
    #[arg(
        long,
        required_unless_present_any = ["describe", "who", "ring", "comm"],
        default_value_t = 0,
        hide_default_value = true
    )]
    pub pid: u32,
    /// Instead: list the tasks that run on these CPUs (`1`, `0,2-3`), and for how long at a time.
    #[arg(long, value_name = "CPUS")]
    pub who: Option<String>,
    /// With --who: a process to leave out with all its threads, like --pid; may be repeated.
    #[arg(long, value_name = "PID", requires = "who")]
    pub leave_out: Vec<u32>,
    /// Length of the trace: `10s`, `500ms`, `2min`; it ends early with the process.
    #[arg(long, default_value = "10s")]
    pub duration: String,
    /// Local TCP port to trace, instead of all that the process listens on; may be repeated.
    #[arg(long = "port")]
    pub ports: Vec<u16>,
    /// Trace all arrivals in random windows, at the cost of this share of the service's CPU time.
    /// No hook is attached between them. [default: 2%]
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["sample", "all", "who"], help_heading = "Which requests, at which cost")]
    pub cost: Option<String>,
    /// Trace one flow in N all the time, with a new choice every 50 ms, for stalls that windows may
    /// miss. It costs a saturated service a seventh of its throughput. From Linux 6.16 on it costs
    /// less, and some stages are merged. There is no rx, ip and tx.
    #[arg(long, value_name = "1/N", conflicts_with_all = ["all", "who"], help_heading = "Which requests, at which cost")]
    pub sample: Option<String>,
    /// With --sample: separate all stages on every kernel, as --records does. It needs hooks on each
    /// system call of the machine.
    #[arg(long, requires = "sample", help_heading = "Which requests, at which cost")]
    pub all_stages: bool,
    /// Trace every request; costs a saturated service up to a third of its throughput.
    #[arg(long, conflicts_with = "who", help_heading = "Which requests, at which cost")]
    pub all: bool,
    /// Random seed of windows and flows. Without it a new one is drawn; the result has it.
    #[arg(long, conflicts_with_all = ["all", "who"], help_heading = "Which requests, at which cost")]
    pub seed: Option<u64>,
    /// Write the result as JSON to this file; `-` for standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Write a record of every traced request as Parquet. This costs more. Dropped records are
    /// counted.
    #[arg(long, value_name = "FILE", conflicts_with = "who", help_heading = "Output")]
    pub records: Option<PathBuf>,
    /// The times alone.
    #[command(flatten)]
    pub alone: TimesArgs,
    /// Number of slowest requests in the result, at most 100000.
    #[arg(long, default_value_t = 20, value_parser = worst, help_heading = "Output")]
    pub worst: usize,
    /// Write the slowest requests as a Chrome trace, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", conflicts_with = "who", help_heading = "Output")]
    pub chrome: Option<PathBuf>,
    /// Name the causes of the slowest requests, at or above a quantile (default p99). It covers the
    /// traced requests: those in windows, or all with --all.
    #[arg(long, value_name = "QUANTILE", num_args = 0..=1, require_equals = true,
          default_missing_value = "p99", value_parser = quantile, conflicts_with = "who",
          help_heading = "Output")]
    pub blame: Option<f64>,
    /// Write a flame graph (SVG) of their time beside that of the others; implies --blame.
    #[arg(long, value_name = "FILE", conflicts_with = "who", help_heading = "Output")]
    pub flame: Option<PathBuf>,
    /// Write the same as folded lines, times in µs, for other viewers; implies --blame.
    #[arg(long, value_name = "FILE", conflicts_with = "who", help_heading = "Output")]
    pub folded: Option<PathBuf>,
    /// Print a line of JSON after each window, in place of the page: its requests, p99 with the 95 % interval,
    /// and the requests above --bound. `sojourn manage` reads such lines.
    #[arg(long, conflicts_with_all = ["sample", "who"], help_heading = "Output")]
    pub windows: bool,
    /// With --windows: requests that took longer than this are counted: `1ms`.
    #[arg(long, value_name = "TIME", requires = "windows", help_heading = "Output")]
    pub bound: Option<String>,
    /// Print stages, reasons and the form of the result as JSON.
    #[arg(long, help_heading = "Output")]
    pub describe: bool,
    /// Size of the buffer for records on their way out of the kernel: a power of 2, such as 16MiB.
    #[arg(long, default_value = "16MiB", help_heading = "Checks")]
    pub buffer: String,
    /// Largest share of unmatched requests before the verdict is `unknown`.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", help_heading = "Checks")]
    pub unmatched_max: f64,
    /// Largest share of unexplained time before the verdict is `unknown`.
    #[arg(long, default_value_t = 0.05, value_name = "SHARE", help_heading = "Checks")]
    pub residual_max: f64,
    /// Let the kernel measure the cost of each hook while tracing; this costs time too.
    #[arg(long, help_heading = "Checks")]
    pub hook_cost: bool,
    /// The black box.
    #[command(flatten)]
    pub black_box: RingArgs,
}

/// What is done instead of a trace.
#[derive(Clone, Debug, Subcommand)]
pub enum Instead {
    /// Which stage and cause moved mean and tail between two traces?
    ///
    /// Reads results that `--json` wrote. The differences of the stages add up to those of the mean and of the
    /// tail, the slowest 1 % of each side. Each has a 95 % interval, from blocks of requests. With more pairs of
    /// files (first, second, first, second, …) the pairs are the units: measure them in turn.
    #[command(after_help = diff_args::EXAMPLES)]
    Diff(DiffArgs),
}

const EXAMPLES: &str = "\
Examples:
  sojourn-trace --pid $(pidof memcached)
  sojourn-trace --pid $(cat /run/nginx.pid) --duration 30s --json out.json
  sojourn-trace --pid 4242 --cost 0.5% --duration 2min
  sojourn-trace --pid 4242 --records requests.parquet --chrome worst.json
  sojourn-trace --pid 4242 --blame=p99 --flame tail.svg
  sojourn-trace --pid 4242 --windows --bound 1ms --duration 1h
  sojourn-trace --ring --comm memcached --over 5ms --last 60s --listen 9464
  sojourn-trace --who 1 --pid $(pidof memcached) --duration 5s
  sojourn-trace diff old.json new.json

Exit codes: 0 ok, 2 usage or no rights, 3 the numbers are not valid, 4 the kernel refused, 130 interrupted.";

fn worst(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 0..=100_000) => Ok(count),
        _ => Err(format!("'{text}' is not a whole number from 0 to 100000")),
    }
}

/// `p99`, `p99.9` or `0.99`; not below the median, above which there is a tail to speak of.
fn quantile(text: &str) -> Result<f64, String> {
    match crate::quantile::read(text) {
        Some(q) if (0.5..1.0).contains(&q) => Ok(q),
        _ => Err(format!("'{text}' is not a quantile from p50 to below p100: p99, p99.9, 0.99")),
    }
}

impl Args {
    /// The quantile from which on somebody is to blame, if anybody is asked for.
    pub fn blamed_from(&self) -> Option<f64> {
        let is_drawn = self.flame.is_some() || self.folded.is_some();
        self.blame.or_else(|| is_drawn.then_some(crate::culprit::QUANTILE))
    }

    /// Length of the trace, ns.
    pub fn duration_ns(&self) -> Result<u64, Fault> {
        let ns = units::parse_ns(&self.duration).map_err(|fault| fault.within("--duration"))?;
        if (1_000_000..=LONGEST_S * units::NS_PER_S).contains(&ns) {
            return Ok(ns);
        }
        let what = format!("'{}' is not a length for a trace", self.duration);
        Err(Fault::usage(what, "--duration", "give 1ms to 6h: counters are made for that"))
    }

    /// Which requests are traced; records without more words mean all.
    pub fn how(&self) -> Result<How, Fault> {
        if self.blamed_from().is_some() && self.sample.is_some() {
            return Err(Fault::usage(
                "causes of slow requests need windows or all requests, not a sample of flows, because \
                 their hooks run for every switch and interrupt",
                "--blame",
                "leave out --sample, or give --all",
            ));
        }
        let wants_all = self.all || self.records.is_some();
        How::read(self.cost.as_deref(), self.sample.as_deref(), wants_all, self.seed)
    }

    /// Size of the buffer, bytes.
    pub fn ring_bytes(&self) -> Result<u32, Fault> {
        let bytes = units::parse_bytes(&self.buffer).map_err(|fault| fault.within("--buffer"))?;
        if bytes.is_power_of_two() && (4096..=1 << 30).contains(&bytes) {
            return Ok(bytes as u32);
        }
        Err(Fault::usage(
            format!("a buffer of {bytes} bytes cannot be made"),
            "--buffer",
            "give a power of 2 from 4KiB to 1GiB",
        ))
    }

    /// What a result may have and still be believed; a fault if a bound is no number.
    pub fn bounds(&self) -> Result<Bounds, Fault> {
        for (flag, share) in
            [("--unmatched-max", self.unmatched_max), ("--residual-max", self.residual_max)]
        {
            if !(0.0..=1.0).contains(&share) {
                return Err(Fault::usage(
                    format!("{share} is not a share"),
                    flag,
                    "give a number from 0 to 1",
                ));
            }
        }
        Ok(Bounds { unmatched_max: self.unmatched_max, residual_max: self.residual_max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &str) -> Args {
        Args::try_parse_from(words.split_whitespace()).unwrap()
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_flag() {
        assert!(Args::try_parse_from(["sojourn-trace"]).is_err(), "a pid is needed");
        assert!(Args::try_parse_from(["t", "--pid", "1", "--leave-out", "2"]).is_err());
        assert!(Args::try_parse_from(["t", "--who", "0", "--records", "x"]).is_err());
        let text = Args::try_parse_from(["t", "--comm", "x"]).unwrap_err().to_string();
        assert!(text.contains("--ring") && !text.contains("--pid"), "{text}");
        for (words, flag) in [
            ("t --pid 1 --duration 0s", "--duration"),
            ("t --pid 1 --duration 7h", "--duration"),
            ("t --pid 1 --buffer 3MB", "--buffer"),
            ("t --pid 1 --unmatched-max 2", "--unmatched-max"),
        ] {
            let args = args(words);
            let faults = [args.duration_ns().err(), args.ring_bytes().err(), args.bounds().err()];
            let at: Vec<String> = faults.into_iter().flatten().map(|fault| fault.at).collect();
            assert_eq!(at, [flag], "{words}");
        }
    }

    #[test]
    fn a_quantile_is_read_as_people_write_it() {
        let blamed = |words: &str| args(words).blamed_from();
        assert_eq!(blamed("t --pid 1"), None);
        assert_eq!(blamed("t --pid 1 --blame"), Some(0.99));
        assert_eq!(blamed("t --pid 1 --flame x.svg"), Some(0.99));
        assert_eq!(blamed("t --pid 1 --blame=p99.9 --folded x"), Some(0.999));
        assert_eq!(blamed("t --pid 1 --blame=0.95"), Some(0.95));
        for wrong in ["p100", "p49", "1", "99", "pp", "NaN"] {
            let words = ["t", "--pid", "1", &format!("--blame={wrong}")].map(str::to_owned);
            assert!(Args::try_parse_from(words).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_three_ways_to_trace_exclude_each_other() {
        for words in ["--cost 2% --all", "--sample 1/64 --all", "--cost 2% --sample 1/64"] {
            let words = format!("t --pid 1 {words}");
            assert!(Args::try_parse_from(words.split_whitespace()).is_err(), "{words}");
        }
        assert_eq!(args("t --pid 1 --all").how(), Ok(How::All));
        assert_eq!(args("t --pid 1 --records x").how(), Ok(How::All));
        let asked = args("t --pid 1 --records x --cost 5% --seed 3").how();
        assert_eq!(asked, Ok(How::Windows { cost: 0.05, seed: 3 }));
        let asked = args("t --pid 1 --records x --sample 1/8 --seed 3").how();
        assert_eq!(asked, Ok(How::Sample { one_in: 8, seed: 3 }));
        assert!(matches!(args("t --pid 1").how(), Ok(How::Windows { .. })));
        assert!(args("t --pid 1 --sample 1/8 --all-stages").all_stages);
        assert!(Args::try_parse_from(["t", "--pid", "1", "--all-stages"]).is_err());
        assert_eq!(args("t --pid 1 --cost 0").how().unwrap_err().at, "--cost");
        assert_eq!(args("t --pid 1 --flame x.svg --all").how(), Ok(How::All));
        for words in ["t --pid 1 --blame", "t --pid 1 --folded x --cost 1%"] {
            assert!(matches!(args(words).how(), Ok(How::Windows { .. })), "{words}");
        }
        assert_eq!(args("t --pid 1 --blame --sample 1/8").how().unwrap_err().at, "--blame");
    }

    #[test]
    fn the_defaults_are_valid() {
        let args = args("t --pid 1");
        assert_eq!(args.duration_ns(), Ok(10_000_000_000));
        assert_eq!(args.ring_bytes(), Ok(16 << 20));
        assert!(args.bounds().is_ok());
        assert_eq!(self::args("t --who 1 --leave-out 2 --leave-out 3").leave_out, [2, 3]);
    }
}
