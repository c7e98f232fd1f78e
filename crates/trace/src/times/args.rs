//! Options of a trace of times alone.

use std::path::PathBuf;

use clap::Args;

/// Of `sojourn-trace --times`.
#[derive(Args, Clone, Debug)]
pub struct TimesArgs {
    /// Write only when each request came, and when its reply began and ended, as Parquet. This costs far less than
    /// --records, because there are no stages. It needs Linux 6.3.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "who", "sample", "cost", "all", "all_stages", "records", "chrome", "blame", "flame", "folded", "windows",
        "hook_cost", "ring", "seed",
    ], help_heading = "Output")]
    pub times: Option<PathBuf>,
}
