//! The command line.

use std::path::PathBuf;

use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  A service first, and a batch job with twice the usual share beside it:
    sojourn-sched --job '{\"classes\": [{\"name\": \"service\", \"pids\": [1234], \"warp\": \"5ms\"},
                                      {\"name\": \"batch\", \"cgroups\": [\"batch\"], \"weight\": 200}]}'

  Everything equal, until it is ended:
    sojourn-sched

Keys of a job: classes, allowance [3ms], grace [500us], credit [0], duration. Keys of a class: name,
pids (processes with what they start, or threads), cgroups (folders of version 2), weight [100],
warp [0], limit [none]. The class named default is everybody else. A task's nice value multiplies its
weight, as ever.

Each line on stdout is JSON: the first when it is in force, then one every second with what each
class had, the last sums up. It ends by SIGTERM or SIGINT, after its duration, and when whoever
started it has ended; then, and when it is killed, the kernel takes all tasks back.

Exit codes: 0 it was in force to its end; 2 the job is wrong, or the kernel has no sched_ext; 4 the
kernel refused it, or ended it before.";

/// Borrowed virtual time: weight for the long-run share of a CPU, warp for who goes first.
#[derive(Clone, Debug, Parser)]
#[command(name = "sojourn-sched", version, after_help = EXAMPLES)]
pub struct Args {
    /// The job: as JSON, or the file that holds it; -: stdin
    #[arg(long, value_name = "JOB", default_value = "{}", hide_default_value = true)]
    pub job: String,
    /// Say whether the job is right and this kernel can have it, and end
    #[arg(long)]
    pub check: bool,
    /// Load this object of another compiler, say what the verifier made of it, and end
    #[arg(long, value_name = "FILE", hide = true)]
    pub verify: Option<PathBuf>,
}
