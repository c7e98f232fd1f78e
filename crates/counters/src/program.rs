//! The program: samples at an interval until a signal ends it, a line of JSON each.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::json;
use sojourn_base::clock::{Clock, Monotonic, process_cpu_ns, thread_cpu_ns};
use sojourn_base::units::parse_ns;
use sojourn_base::{Exit, Fault, files, program};

use crate::sample::Sampler;

/// Of the time, what sampling may take is one part in so many; where it takes more, samples are fewer.
const PARTS: u64 = 500;
/// How many times longer the interval may become by that.
const STRETCH_MAX: u64 = 10;
/// What is written at once: several samples, so that the disk is seldom asked while load runs.
const BUFFER_BYTES: usize = 1 << 20;
/// The form of the first line.
const FORM: &str = "sojourn.counters/1";

/// Samples the kernel's counters of a service and of the machine.
///
/// The service is a process, its session and all its descendants. The first line has the interval.
/// Each sample is a line: files of /proc as read, with the time of each. The last line has the cost
/// of the samples after the first. It ends with SIGTERM or ^C, after a last sample.
#[derive(Debug, Parser)]
#[command(name = "sojourn-counters", version)]
pub struct Args {
    /// First process of the service
    #[arg(long)]
    pub pid: u32,
    /// Time between two samples; longer if a sample takes more than 1/500 of it
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    pub every: u64,
    /// File for the samples
    #[arg(long, value_name = "FILE")]
    pub json: PathBuf,
    /// Another file to read in each sample; may be repeated
    #[arg(long, value_name = "FILE")]
    pub also: Vec<String>,
}

fn every(text: &str) -> Result<u64, String> {
    const LEAST_NS: u64 = 10_000_000;
    match parse_ns(text) {
        Ok(every_ns) if every_ns >= LEAST_NS => Ok(every_ns),
        Ok(_) => Err(format!("'{text}' is too short: 10ms at least")),
        Err(fault) => Err(fault.what),
    }
}

/// Runs the program on `words` and answers its exit code.
///
/// `wait` sleeps until a moment of the monotonic clock; true: somebody wants the end.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    wait: &mut dyn FnMut(u64) -> bool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, _, _| {
        let written = files::begin(&args.json).and_then(|file| {
            let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
            record(&args, wait, &mut file)?;
            file.flush()
        });
        written.map_err(|error| fault(&args.json, &error)).map(|()| Exit::Ok)
    })
}

fn fault(path: &Path, error: &io::Error) -> Fault {
    let what = format!("samples cannot be written: {error}");
    Fault::failed(what, path.display().to_string(), "see whether the disk is full")
}

fn record(args: &Args, wait: &mut dyn FnMut(u64) -> bool, into: &mut impl Write) -> io::Result<()> {
    let head = json!({"schema": FORM, "pid": args.pid, "every_ns": args.every});
    writeln!(into, "{head}")?;
    let mut sampler = Sampler::new(args.pid, args.also.clone());
    let (mut every_ns, mut stretched) = (args.every, 0_u64);
    let (mut cpu_ns, mut wall_ns) = (0, 0); // when the first was taken, which is before the load
    let mut is_over = false;
    let mut last_ns = 0;
    let mut due_ns = Monotonic.now_ns();
    while !is_over {
        is_over = wait(due_ns);
        let now_ns = Monotonic.now_ns();
        if is_over && now_ns < last_ns + every_ns / 2 {
            break; // the last one is not old
        }
        let before_ns = thread_cpu_ns();
        serde_json::to_writer(&mut *into, &sampler.take(every_ns))?;
        writeln!(into)?;
        let cost_ns = thread_cpu_ns() - before_ns;
        if last_ns == 0 {
            (cpu_ns, wall_ns) = (process_cpu_ns(), Monotonic.now_ns());
        } else if cost_ns * PARTS > every_ns {
            every_ns = (cost_ns * PARTS).min(STRETCH_MAX * args.every).max(every_ns);
            stretched += 1;
        }
        last_ns = now_ns;
        due_ns = next(due_ns, every_ns, Monotonic.now_ns());
    }
    let (cpu_ns, wall_ns) = (process_cpu_ns() - cpu_ns, Monotonic.now_ns() - wall_ns);
    let cost = json!({"cpu_ns": cpu_ns, "wall_ns": wall_ns, "stretched": stretched});
    writeln!(into, "{cost}")
}

/// The first of the moments an interval apart, counted from `due_ns`, that is still to come.
fn next(due_ns: u64, every_ns: u64, now_ns: u64) -> u64 {
    due_ns + every_ns * (now_ns.saturating_sub(due_ns) / every_ns + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn run(words: &[&str], wait: &mut dyn FnMut(u64) -> bool) -> (u8, String) {
        let mut text = Vec::new();
        let words = words.iter().map(OsString::from);
        let exit = main(words, wait, &mut io::sink(), &mut text);
        (exit, String::from_utf8(text).unwrap())
    }

    #[test]
    fn samples_stand_between_a_head_and_what_they_cost() {
        let path = std::env::temp_dir().join(format!("counters-{}", std::process::id()));
        let pid = std::process::id().to_string();
        let mut due = Vec::new();
        let mut wait = |due_ns| {
            due.push(due_ns);
            due.len() == 3 // asked to end while it waits for the third
        };
        let words = ["x", "--pid", &pid, "--every", "1h", "--json", path.to_str().unwrap()];
        assert_eq!(run(&words, &mut wait), (0, String::new()));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 4, "two samples, and none at the end: the second was just taken");
        assert_eq!(lines[0]["every_ns"], 3_600_000_000_000_u64);
        let stat = &lines[1]["files"][0];
        assert_eq!(stat[0], format!("/proc/{pid}/stat"));
        assert!(stat[2].as_str().unwrap().starts_with(&pid));
        assert!(lines[3]["cpu_ns"].as_u64().unwrap() > 0);
        assert!(due[0] < due[1] && due[1] <= due[2]);
    }

    #[test]
    fn moments_that_have_passed_are_left_out() {
        assert_eq!(next(100, 10, 100), 110);
        assert_eq!(next(100, 10, 99), 110, "a little early");
        assert_eq!(next(100, 10, 137), 140);
    }

    #[test]
    fn mistakes_are_named() {
        let never = &mut |_| true;
        let (exit, text) = run(&["x", "--pid", "1", "--every", "1ms", "--json", "/tmp/a"], never);
        assert!(exit == 2 && text.contains("too short"), "{text}");
        let (exit, text) = run(&["x", "--pid", "1", "--json", "/no such folder/a"], never);
        assert!(exit == 4 && text.contains("cannot be written"), "{text}");
    }
}
