//! `sojourn-noise`: antagonists of one resource each. Prints what `sojourn_noise::program` writes.

use std::process::ExitCode;

#[path = "../signals.rs"]
mod signals;

fn main() -> ExitCode {
    signals::until_stopped(sojourn_noise::program::main)
}
