//! `sojourn-sched`: borrowed virtual time as a scheduler. Prints what `sojourn_sched::program` writes.

use std::process::ExitCode;

#[path = "../signals.rs"]
mod signals;

fn main() -> ExitCode {
    signals::until_stopped(|words, stop, out, talk| {
        sojourn_sched::program::main(words, stop, out, talk)
    })
}
