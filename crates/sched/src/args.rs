//! The command line.

use std::path::PathBuf;

use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  A service first, and a batch job with twice the usual share beside it:
    sojourn-sched --job '{\"classes\": [{\"name\": \"service\", \"pids\": [1234], \"warp\": \"5ms\"},
                                      {\"name\": \"batch\", \"cgroups\": [\"batch\"], \"weight\": 200}]}'

  All tasks equal, until it is ended:
    sojourn-sched

Keys of a job: classes, allowance [3ms], grace [500us], credit [0], duration. Keys of a class: name,
pids (processes with what they start, or threads), cgroups (folders of version 2), weight [100],
warp [0], limit [none]. The class named default has all other tasks. A task's nice value multiplies
its weight as usual.

Each line on stdout is JSON: the first when it is in force, then one every second with each class's
CPU time, and the last sums up. It ends with SIGTERM or SIGINT, after its duration, and when its
parent has ended. The kernel then takes all tasks back, also after a kill.

Exit codes: 0 it was in force to its end; 2 the job is wrong, or the kernel has no sched_ext; 4 the
kernel refused it, or ended it before.";

/// Borrowed virtual time: the weight sets the share of a CPU in the long run, the warp sets the
/// order.
#[derive(Clone, Debug, Parser)]
#[command(name = "sojourn-sched", version, after_help = EXAMPLES)]
pub struct Args {
    /// The job as JSON, or a file with it; -: stdin
    #[arg(long, value_name = "JOB", default_value = "{}", hide_default_value = true)]
    pub job: String,
    /// Check the job and this kernel, and exit
    #[arg(long)]
    pub check: bool,
    /// Load this object of another compiler, print the verifier's result, and exit
    #[arg(long, value_name = "FILE", hide = true)]
    pub verify: Option<PathBuf>,
}
