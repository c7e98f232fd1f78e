//! `sojourn-sim`: queueing and scheduler simulator. Prints what `sojourn_sim::cli` answers.

use std::io::{self, Write as _};
use std::process::ExitCode;

use sojourn_base::visible::Visible;
use sojourn_base::{Fault, files};

fn main() -> ExitCode {
    let mut talk = Visible::new(io::stderr());
    let answer = sojourn_sim::cli::main(std::env::args_os());
    let written = answer.and_then(|answer| {
        files::say(&mut Visible::new(io::stdout()), &answer.out)?;
        let _ = talk.write_all(answer.talk.as_bytes());
        Ok::<u8, Fault>(answer.exit)
    });
    ExitCode::from(written.unwrap_or_else(|fault| {
        let _ = writeln!(talk, "{fault}");
        fault.exit
    }))
}
