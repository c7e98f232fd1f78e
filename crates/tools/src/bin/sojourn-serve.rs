//! `sojourn-serve`: synthetic services. Prints what `sojourn_serve::program` writes.

use std::process::ExitCode;

#[path = "../signals.rs"]
mod signals;

fn main() -> ExitCode {
    signals::until_stopped(sojourn_serve::program::main)
}
