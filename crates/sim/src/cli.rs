//! The command line: what is asked, and the text that answers. Printing is `tools`' business.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use clap::{Args, CommandFactory, Parser, Subcommand};
use sojourn_base::{Exit, Fault, files, program};

use crate::describe;
use crate::queue::run::Job;
use crate::result::Verdict;
use crate::{calls, fleet, queue, sched, show};

/// What a command ends with.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Data, for stdout.
    pub out: String,
    /// Talk, for stderr.
    pub talk: String,
    /// Exit code.
    pub exit: u8,
}

#[derive(Debug, Parser)]
#[command(name = "sojourn-sim", version, about = "Queueing and scheduler simulator", after_help = EXAMPLES)]
struct Cli {
    /// Print kinds, JSON Schemas and default jobs as JSON, and exit
    #[arg(long)]
    describe: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "Examples:
  sojourn-sim queue --rate 3.2 --service exponential:1 --servers 4 --requests 10M --seed 1 --json -
  sojourn-sim queue --rate 500k --service fixed:10 --unit us --servers 8 --discipline placed:64";

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate one queue: arrivals, service, servers; with intervals and the closed form
    Queue(Box<QueueArgs>),
    /// Simulate a machine: CPUs under a scheduling policy, services, neighbours; from a JSON job
    Sched(JobArgs),
    /// Simulate a datacenter: servers, a service tree, neighbours, a day's load; from a JSON job
    Fleet(FleetArgs),
    /// Simulate services that call each other: fan-out, hedging, retries, start-up; from a JSON job
    Calls(JobArgs),
}

#[derive(Debug, Args)]
struct QueueArgs {
    /// Arrival process [default: poisson]
    #[arg(long)]
    arrivals: Option<String>,
    /// Offered load, requests/s [default: 0.8]
    #[arg(long, allow_hyphen_values = true)]
    rate: Option<String>,
    /// Service time, in --unit, or histogram:FILE#KEY [default: exponential:1]
    #[arg(long)]
    service: Option<String>,
    /// Unit of the numbers in --service: s, ms, us, ns [default: s]
    #[arg(long)]
    unit: Option<String>,
    /// Number of servers [default: 1]
    #[arg(long)]
    servers: Option<u32>,
    /// fcfs, placed:64, epoll:64,1us,3us, ps, null [default: fcfs]
    #[arg(long)]
    discipline: Option<String>,
    /// Number of measured requests [default: 1M]
    #[arg(long, allow_hyphen_values = true)]
    requests: Option<String>,
    /// Number of warm-up requests before them, not counted [default: a tenth]
    #[arg(long)]
    warmup: Option<String>,
    /// Random seed [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Read the job from FILE ('-': stdin); options override its keys
    #[arg(long, value_name = "FILE")]
    job: Option<String>,
    /// Write the result as JSON to FILE ('-': stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(Debug, Args)]
struct JobArgs {
    /// Read the job from FILE ('-': stdin); all keys and defaults: sojourn-sim --describe
    #[arg(long, value_name = "FILE")]
    job: String,
    /// Write the result as JSON to FILE ('-': stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(Debug, Args)]
struct FleetArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Number of threads; 0: the number of CPUs. The result does not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Its options and commands, as manual and completion of shells describe them.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs one command line, program name first; answers what is to be printed.
pub fn main(args: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Answer, Fault> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return Ok(usage(&error)),
    };
    if cli.describe {
        return Ok(Answer { out: describe::text()?, ..Answer::default() });
    }
    match cli.command {
        Some(Command::Queue(args)) => run_queue(&args),
        Some(Command::Sched(args)) => run_sched(&args),
        Some(Command::Fleet(args)) => run_fleet(&args),
        Some(Command::Calls(args)) => run_calls(&args),
        None => Err(Fault::usage("no command given", "", "try sojourn-sim queue --help")),
    }
}

fn usage(error: &clap::Error) -> Answer {
    let text = program::answer(error);
    if error.use_stderr() {
        return Answer { talk: text, exit: Exit::Usage as u8, ..Answer::default() };
    }
    Answer { out: text, ..Answer::default() }
}

fn run_queue(args: &QueueArgs) -> Result<Answer, Fault> {
    let job = args.job()?;
    let started = Instant::now();
    let result = queue::run::run(&job)?;
    let speed = speed("requests", result.requests, started);
    deliver(args.json.as_deref(), &result, show::queue(&result), speed, result.verdict)
}

fn run_sched(args: &JobArgs) -> Result<Answer, Fault> {
    let job: sched::job::Job = read_job(&args.job)?;
    let started = Instant::now();
    let result = sched::run::run(&job)?;
    let speed = speed("events", result.events, started);
    deliver(args.json.as_deref(), &result, show::sched(&result), speed, result.verdict)
}

fn run_fleet(args: &FleetArgs) -> Result<Answer, Fault> {
    let job: fleet::job::Job = read_job(&args.job.job)?;
    let threads = match args.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        some => some,
    };
    let started = Instant::now();
    let result = fleet::run::run(&job, threads)?;
    let speed = speed("requests kept", result.server_ns.count, started);
    deliver(args.job.json.as_deref(), &result, show::fleet(&result), speed, result.verdict)
}

fn run_calls(args: &JobArgs) -> Result<Answer, Fault> {
    let job: calls::job::Job = read_job(&args.job)?;
    let started = Instant::now();
    let result = calls::run::run(&job)?;
    let speed = speed("events", result.events, started);
    deliver(args.json.as_deref(), &result, show::calls(&result), speed, result.verdict)
}

impl QueueArgs {
    fn job(&self) -> Result<Job, Fault> {
        let mut job: Job = match &self.job {
            Some(place) => read_job(place)?,
            None => Job::default(),
        };
        let texts = [
            (&self.arrivals, &mut job.arrivals),
            (&self.rate, &mut job.rate),
            (&self.service, &mut job.service),
            (&self.unit, &mut job.unit),
            (&self.discipline, &mut job.discipline),
            (&self.requests, &mut job.requests),
            (&self.warmup, &mut job.warmup),
        ];
        for (input, key) in texts {
            key.clone_from(input.as_ref().unwrap_or(&key.clone()));
        }
        job.servers = self.servers.unwrap_or(job.servers);
        job.seed = self.seed.unwrap_or(job.seed);
        Ok(job)
    }
}

/// Reads a JSON job from a file or stdin.
fn read_job<T: serde::de::DeserializeOwned>(place: &str) -> Result<T, Fault> {
    let fix = "give a JSON file, or '-' for stdin";
    let text = if place == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(place)
    };
    let text = text.map_err(|e| Fault::usage(format!("cannot read the job: {e}"), place, fix))?;
    let fix = "see sojourn-sim --describe for all keys and their defaults";
    serde_json::from_str(&text).map_err(|e| Fault::usage(format!("job: {e}"), place, fix))
}

/// JSON to where it was asked for, else the table; speed and verdict to stderr.
fn deliver<T: serde::Serialize>(
    place: Option<&str>,
    result: &T,
    table: String,
    speed: String,
    verdict: Verdict,
) -> Result<Answer, Fault> {
    let exit = if verdict == Verdict::Holds { Exit::Ok } else { Exit::Unknown } as u8;
    let Some(place) = place else { return Ok(Answer { out: table, talk: speed, exit }) };
    let mut json = serde_json::to_string_pretty(result)
        .map_err(|e| Fault::failed(format!("cannot write JSON: {e}"), "", "report this"))?;
    json.push('\n');
    if place == "-" {
        return Ok(Answer { out: json, talk: speed, exit });
    }
    files::write_whole(Path::new(place), "the result", |out| out.write_all(json.as_bytes()))?;
    Ok(Answer { out: table, talk: speed, exit })
}

fn speed(what: &str, count: u64, started: Instant) -> String {
    let s = started.elapsed().as_secs_f64();
    let rate = sojourn_base::units::show_count(count as f64 / s);
    format!("{count} {what} in {s:.2} s: {rate} {what}/s\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Result<Answer, Fault> {
        main(line.split_whitespace().map(Into::into))
    }

    #[test]
    fn same_line_same_bytes() {
        let line = "sojourn-sim queue --rate 3.2 --servers 4 --requests 10k --seed 1 --json -";
        assert_eq!(answer(line).unwrap().out, answer(line).unwrap().out);
    }

    #[test]
    fn mistakes_end_with_a_way_out() {
        assert!(answer("sojourn-sim queue --rate 2").unwrap_err().what.contains("unstable"));
        assert!(answer("sojourn-sim queue --rate -1").unwrap_err().fix.contains("above 0"));
        assert!(answer("sojourn-sim queue --discipline fcsf").unwrap_err().fix.contains("fcfs"));
        assert!(answer("sojourn-sim queue --servers 0").unwrap_err().fix.contains("1 server"));
        assert_eq!(answer("sojourn-sim queue --colour red").unwrap().exit, 2);
    }

    #[test]
    fn describe_names_every_table() {
        let text = answer("sojourn-sim --describe").unwrap().out;
        for name in ["arrivals", "services", "disciplines", "closed_forms", "job_schema"] {
            assert!(text.contains(name), "{name}");
        }
    }
}
