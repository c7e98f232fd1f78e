//! `sojourn-query`: services that answer queries by real work.

use std::process::ExitCode;

#[path = "../signals.rs"]
mod signals;

fn main() -> ExitCode {
    signals::until_stopped(sojourn_query::program::main)
}
