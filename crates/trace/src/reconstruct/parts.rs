//! Parts of a result that the stages before it speak in too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reconstruct::stages::Cause;

/// The two answers a measurement can give about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerdictWord {
    /// Self-checks passed.
    Holds,
    /// One failed.
    Unknown,
}

impl VerdictWord {
    /// Why it is unknown, the first of `reasons`; `None`: it holds.
    pub fn doubt(self, reasons: &[String]) -> Option<&str> {
        let why = reasons.first().map_or("without a reason", String::as_str);
        (self == Self::Unknown).then_some(why)
    }
}

/// How much of the time one cause makes up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CauseShare {
    /// Which.
    pub cause: Cause,
    /// Mean per request.
    pub mean_ns: Option<f64>,
    /// Sum ÷ sum of totals.
    pub share: f64,
}

/// One hook: what it gives, and whether it could be attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Its name in the kernel.
    pub name: String,
    /// It was attached.
    pub attached: bool,
    /// What is lost without it; empty if attached.
    pub lost: String,
    /// Events it did not see because they came while it ran on the same CPU.
    pub missed: u64,
    /// With `--hook-cost`: how often it ran.
    pub runs: Option<u64>,
    /// With `--hook-cost`: mean time of one run, without the kernel's way to it.
    pub run_ns: Option<f64>,
}
