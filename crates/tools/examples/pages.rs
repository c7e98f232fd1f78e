//! `pages FOLDER`: writes the manual page of each program and its completion for bash, zsh and fish, laid
//! out as below `/usr/share`. `scripts/package` puts them into the wheel, the deb and the tarball.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

/// Where each shell looks, and what a program's file there has before and after the name.
const SHELLS: [(Shell, &str, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "", ""),
    (Shell::Zsh, "zsh/site-functions", "_", ""),
    (Shell::Fish, "fish/vendor_completions.d", "", ".fish"),
];
const MANUAL: &str = "man/man1";

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("error: no folder given\n  at: the command line\n  fix: pages FOLDER");
        return ExitCode::from(2);
    };
    if let Err(error) = write_all(Path::new(&folder)) {
        let folder = folder.display();
        eprintln!(
            "error: cannot write: {error}\n  at: {folder}\n  fix: name a folder that can be written to"
        );
        return ExitCode::from(4);
    }
    ExitCode::SUCCESS
}

/// Manuals and completions of every program.
pub fn write_all(folder: &Path) -> io::Result<()> {
    commands().iter().try_for_each(|command| write(command, folder))
}

/// Every native program, also where this build leaves out those that need clang.
fn commands() -> Vec<Command> {
    vec![
        sojourn_counters::program::Args::command(),
        sojourn_load::cli::Args::command(),
        sojourn_noise::args::Args::command(),
        sojourn_query::args::Args::command(),
        sojourn_serve::args::Args::command(),
        sojourn_sim::cli::command(),
        sojourn_sched::args::Args::command(),
        sojourn_trace::cli::Args::command(),
    ]
}

fn write(command: &Command, folder: &Path) -> io::Result<()> {
    for (shell, place, before, after) in SHELLS {
        let folder = folder.join(place);
        fs::create_dir_all(&folder)?;
        let mut script = Vec::new();
        let name = command.get_name();
        generate(shell, &mut command.clone(), name, &mut script);
        fs::write(folder.join(format!("{before}{name}{after}")), script)?;
    }
    let folder = folder.join(MANUAL);
    fs::create_dir_all(&folder)?;
    pages_of(command.clone().disable_help_subcommand(true), &folder)
}

/// The page of a command, and one for each command in it, such as `sojourn-sim-queue`.
fn pages_of(command: Command, folder: &Path) -> io::Result<()> {
    let name = command.get_name().to_owned();
    for part in command.get_subcommands().cloned() {
        // The library takes names that live as long as the program, which ends soon.
        let whole: &str = Box::leak(format!("{name}-{}", part.get_name()).into_boxed_str());
        let version = command.get_version().unwrap_or_default().to_owned();
        let version: &str = Box::leak(version.into_boxed_str());
        pages_of(part.name(whole).version(version), folder)?;
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    fs::write(folder.join(format!("{name}.1")), page)
}
