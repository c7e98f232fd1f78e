//! `sojourn-sim`: queueing and scheduler simulator. Prints what `sojourn_sim::cli` answers.

use std::process::ExitCode;

use sojourn_base::visible::visible;

fn main() -> ExitCode {
    match sojourn_sim::cli::main(std::env::args_os()) {
        Ok(answer) => {
            print!("{}", visible(&answer.out));
            eprint!("{}", visible(&answer.talk));
            ExitCode::from(answer.exit)
        }
        Err(fault) => {
            eprintln!("{}", visible(&fault.to_string()));
            ExitCode::from(fault.exit)
        }
    }
}
