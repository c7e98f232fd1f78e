//! `sojourn-sim`: queueing and scheduler simulator. Prints what `sojourn_sim::cli` answers.

use std::process::ExitCode;

fn main() -> ExitCode {
    match sojourn_sim::cli::main(std::env::args_os()) {
        Ok(answer) => {
            print!("{}", answer.out);
            eprint!("{}", answer.talk);
            ExitCode::from(answer.exit)
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::from(fault.exit)
        }
    }
}
