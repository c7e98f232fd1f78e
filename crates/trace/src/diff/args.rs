//! The command line of `sojourn-trace diff`.

use std::path::PathBuf;

use sojourn_base::Fault;

use crate::diff::read::fault;

/// The options.
#[derive(Clone, Debug, clap::Args)]
pub struct DiffArgs {
    /// Results of a first and a second side; more pairs may follow.
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The tail begins at this quantile, from p90 on.
    #[arg(long, default_value = "p99", value_name = "QUANTILE", value_parser = quantile)]
    pub tail: f64,
    /// Smaller changes do not count: share of the first side's mean, or of its tail's mean.
    #[arg(long, default_value = "10%", value_name = "SHARE")]
    pub least: String,
    /// Chance that any stage or culprit is named where nothing differs.
    #[arg(long, default_value = "1%", value_name = "SHARE")]
    pub alpha: String,
    /// Random seed of the draws; the same seed gives the same answer.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the result as JSON to this file; `-` for standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Write a flame graph (SVG) of both tails on one scale; needs traces with --blame.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub flame: Option<PathBuf>,
    /// Write lines of `stack first second`, ns per request of the tail, as viewers of differential flame
    /// graphs take them; needs traces with --blame.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub folded: Option<PathBuf>,
    /// Write the slowest requests of both sides as one Chrome trace, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub chrome: Option<PathBuf>,
}

/// Below the help.
pub const EXAMPLES: &str = "\
Examples:
  sojourn-trace diff old.json new.json
  sojourn-trace diff old.json new.json --chrome both.json --flame both.svg
  sojourn-trace diff old-1.json new-1.json old-2.json new-2.json old-3.json new-3.json

Exit codes: 0 ok, 2 usage, 3 one of the traces is not valid or too short, 4 a file cannot be written.";

fn quantile(text: &str) -> Result<f64, String> {
    match crate::quantile::read(text) {
        Some(q) if (0.9..1.0).contains(&q) => Ok(q),
        _ => Err(format!("'{text}' is not a quantile from p90 to below p100: p99, p99.9, 0.99")),
    }
}

impl DiffArgs {
    /// Smaller changes do not count, as a share of the first side's.
    pub fn least(&self) -> Result<f64, Fault> {
        share(&self.least, "--least", 0.0..=10.0, "give 0 to 1000%, such as 10%")
    }

    /// The error that all statements together may have, 0 to 1.
    pub fn alpha(&self) -> Result<f64, Fault> {
        share(&self.alpha, "--alpha", 1e-4..=0.5, "give 0.01% to 50%, such as 1%")
    }
}

fn share(
    text: &str,
    flag: &str,
    within: std::ops::RangeInclusive<f64>,
    fix: &str,
) -> Result<f64, Fault> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match number {
        Ok(share) if within.contains(&share) => Ok(share),
        _ => Err(fault(format!("'{text}' is not a share that can be used here"), flag, fix)),
    }
}
