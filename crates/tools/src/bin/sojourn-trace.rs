//! `sojourn-trace`: stage breakdown of individual requests. Prints what `sojourn_trace::program` writes.

use std::process::ExitCode;

#[path = "../signals.rs"]
mod signals;

fn main() -> ExitCode {
    signals::until_stopped(|words, stop, out, talk| {
        sojourn_trace::program::main(words, stop, out, talk)
    })
}
