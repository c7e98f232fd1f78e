//! The one error that reaches people: what went wrong, where, and how to fix it.

use std::fmt;

/// How a program of the lab ends. Source: `docs/reference/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The job was done and its result is valid.
    Ok = 0,
    /// The job was done; the `QoS` target was violated, or a comparison regressed.
    Violated = 1,
    /// The command line, job or study is wrong, or the machine cannot do it.
    Usage = 2,
    /// The job was done, but a self-check failed: the result is `unknown`.
    Unknown = 3,
    /// Something outside the tool failed: the server, the disk, the kernel.
    Failed = 4,
    /// Stopped by a signal; what was measured until then is stored.
    Interrupted = 130,
}

/// An error in the three parts that a person needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// What went wrong, with both numbers where two are compared.
    pub what: String,
    /// Where: a flag, a JSON path, an address, a file.
    pub at: String,
    /// What the reader can do about it.
    pub fix: String,
    /// How the program ends because of it.
    pub exit: ExitCode,
}

/// [`Exit`] as a number, so that `Fault` can be compared in tests.
pub type ExitCode = u8;

impl Fault {
    /// A mistake in what was asked for (exit code 2).
    pub fn usage(what: impl Into<String>, at: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), at: at.into(), fix: fix.into(), exit: Exit::Usage as u8 }
    }

    /// A failure outside the tool (exit code 4).
    pub fn failed(what: impl Into<String>, at: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), at: at.into(), fix: fix.into(), exit: Exit::Failed as u8 }
    }

    /// The same fault, seen from one level further out: `path` is put before `at`.
    #[must_use]
    pub fn within(mut self, path: &str) -> Self {
        self.at = if self.at.is_empty() { path.into() } else { format!("{path}.{}", self.at) };
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n  at: {}\n  fix: {}", self.what, self.at, self.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_what_where_and_fix() {
        let fault =
            Fault::usage("rate is -1 requests/s", "rate", "give a rate above 0").within("job");
        assert_eq!(
            fault.to_string(),
            "error: rate is -1 requests/s\n  at: job.rate\n  fix: give a rate above 0"
        );
        assert_eq!(fault.exit, 2);
    }
}
