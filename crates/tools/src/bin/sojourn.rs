//! `sojourn`: starts `python -m sojourn` with the interpreter that lies beside this program.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let python = beside("python3").unwrap_or_else(|| PathBuf::from("python3"));
    let error =
        Command::new(&python).arg("-m").arg("sojourn").args(std::env::args_os().skip(1)).exec();
    let fault = sojourn_base::Fault::failed(
        format!("cannot start the interpreter: {error}"),
        python.display().to_string(),
        "run `make build`, or install the wheel with pip",
    );
    eprintln!("{fault}");
    ExitCode::from(fault.exit)
}

fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.exists().then_some(path)
}
