//! What makes a client more punctual that does not do it yet.

use super::Evidence;

impl Evidence {
    /// The next step for a client that was late or stopped, beside a lower rate.
    pub(super) fn next_step(&self) -> &'static str {
        if self.job.wait != "spin" {
            "let the client spin on a CPU of its own"
        } else if self.job.cpus.is_empty() {
            "pin the client to a CPU that nothing else uses (--cpus)"
        } else {
            "keep other programs off the client's CPUs"
        }
    }
}
