//! The command line: every flag is a key of the job.

use std::path::PathBuf;

use clap::Parser;
use sojourn_base::Fault;
use sojourn_base::kind::nearest;

use crate::job::{self, Job};

const EXAMPLES: &str = "\
Examples:
  Half of one CPU for ten seconds:
    sojourn-noise cpu --intensity 50% --duration 10s

  Memory bandwidth at 500 MB/s on CPU 1, until it is ended:
    sojourn-noise membw --intensity 500MB/s --cpus 1

  The square wave of L18, and a disk writer in a folder of your own:
    sojourn-noise wave -p busy=6ms -p period=48ms
    sojourn-noise disk -p op=write -p folder=/var/tmp --intensity 50MB/s

Each line on stdout is JSON. The first has the requested intensity and the pace alone (measured at full
speed, or given by --most). Then a line follows every second with requested and achieved progress, CPU
time, and the time that it waited for a CPU. The last line sums up. The program ends with SIGTERM or
SIGINT, after --duration, and when its parent has ended.

Exit codes: 0 it ran and held its intensity (at 100 % none is held, but by memcap); 2 the request is
wrong, or the machine cannot do it; 3 it did not hold its intensity, beyond what waiting for a CPU
explains; 4 something outside failed.";

/// Antagonists of one resource each, with a held and reported intensity.
#[derive(Clone, Debug, Parser)]
#[command(name = "sojourn-noise", version, after_help = EXAMPLES)]
pub struct Args {
    /// The antagonist; --list names them
    pub kind: Option<String>,
    /// Intensity: a share of its pace alone, 0% to 100%, or a rate, 500MB/s, 20k/s [default: 100%]
    #[arg(long, short, value_name = "I")]
    pub intensity: Option<String>,
    /// A parameter of the kind: size=16MiB; --list names them
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub param: Vec<String>,
    /// Duration; without it, it runs until it is ended
    #[arg(long, short, value_name = "TIME")]
    pub duration: Option<String>,
    /// CPUs to run on, 1 or 0,2-3; without it, where it is started
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<String>,
    /// Its pace alone, in units per second; without it, this is measured at the start
    #[arg(long, value_name = "RATE")]
    pub most: Option<String>,
    /// Length of this measurement [default: 500ms]
    #[arg(long, value_name = "TIME")]
    pub calibrate: Option<String>,
    /// Longest burst of work [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub grain: Option<String>,
    /// Largest missing share before the intensity counts as not held [default: 5%]
    #[arg(long, value_name = "SHARE")]
    pub tolerance: Option<String>,
    /// Read the job as JSON; -: from stdin. Options override its keys
    #[arg(long, value_name = "FILE")]
    pub job: Option<PathBuf>,
    /// Check the job and the machine, and exit
    #[arg(long)]
    pub check: bool,
    /// List the antagonists with their parameters, and exit
    #[arg(long)]
    pub list: bool,
    /// Print kinds and parameters as JSON, and exit
    #[arg(long)]
    pub describe: bool,
}

impl Args {
    /// The job that file and flags describe together.
    pub fn job(&self) -> Result<Job, Fault> {
        let mut job = match &self.job {
            Some(path) => job::read(path)?,
            None => Job::default(),
        };
        let put = |key: &mut String, flag: &Option<String>| {
            if let Some(text) = flag {
                key.clone_from(text);
            }
        };
        put(&mut job.kind, &self.kind);
        put(&mut job.intensity, &self.intensity);
        put(&mut job.duration, &self.duration);
        put(&mut job.cpus, &self.cpus);
        put(&mut job.most, &self.most);
        put(&mut job.calibrate, &self.calibrate);
        put(&mut job.grain, &self.grain);
        put(&mut job.tolerance, &self.tolerance);
        for text in &self.param {
            let Some((name, value)) = text.split_once('=') else {
                let fix = match nearest(text, ["list", "check", "describe"]) {
                    Some(flag) => format!("write NAME=VALUE, or did you mean --{flag}?"),
                    None => "write NAME=VALUE: -p size=16MiB".into(),
                };
                return Err(Fault::usage(format!("'{text}' is not a parameter"), "param", fix));
            };
            job.params.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        if job.kind.is_empty() {
            let fix = "name one: sojourn-noise cpu; `sojourn-noise --list` lists them";
            return Err(Fault::usage("no antagonist is named", "kind", fix));
        }
        Ok(job)
    }
}
