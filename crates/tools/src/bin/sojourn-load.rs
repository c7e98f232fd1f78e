//! `sojourn-load`: open-loop load generator. Prints what `sojourn_load::program` writes.

use std::process::ExitCode;

#[path = "../signals.rs"]
mod signals;

fn main() -> ExitCode {
    signals::until_stopped(sojourn_load::program::main)
}
