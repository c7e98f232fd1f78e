//! From a command line to an exit code, the same way for every program.

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;
use clap::error::ErrorKind;

use crate::{Exit, Fault};

/// The commit that a release was built from; nothing names it in other builds, which would be linked anew each time.
const COMMIT: Option<&str> = option_env!("SOJOURN_BUILT_FROM");

/// What help, `--version` or a mistake on the command line prints.
///
/// A version has its build with it: the commit, and the system and C library that it is for.
pub fn answer(error: &clap::Error) -> String {
    let text = error.render().to_string();
    if error.kind() != ErrorKind::DisplayVersion {
        return text;
    }
    let libc = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let arch = std::env::consts::ARCH;
    format!("{} ({}, {arch}-linux-{libc})\n", text.trim_end(), COMMIT.unwrap_or("unreleased"))
}

/// Reads `words`, runs what they ask for, and answers the exit code.
///
/// Help goes to `out`, mistakes and faults go to `talk`. A stream that is closed takes neither, and
/// that changes nothing.
pub fn main<Args: Parser>(
    words: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    talk: &mut dyn Write,
    run: impl FnOnce(Args, &mut dyn Write, &mut dyn Write) -> Result<Exit, Fault>,
) -> u8 {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            let is_mistake = error.use_stderr();
            let text = answer(&error);
            let _ = if is_mistake { write!(talk, "{text}") } else { write!(out, "{text}") };
            return if is_mistake { Exit::Usage as u8 } else { Exit::Ok as u8 };
        }
    };
    match run(args, out, talk) {
        Ok(exit) => exit as u8,
        Err(fault) => {
            let _ = writeln!(talk, "{fault}");
            fault.exit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    #[command(name = "sojourn-test", version)]
    struct Args {
        /// How it ends
        #[arg(long)]
        fails: bool,
    }

    fn run(words: &[&str]) -> (u8, String, String) {
        let words = std::iter::once("sojourn-test").chain(words.iter().copied());
        let (mut out, mut talk) = (Vec::new(), Vec::new());
        let run = |args: Args, out: &mut dyn Write, _: &mut dyn Write| {
            if args.fails {
                return Err(Fault::failed("the disk is full", "disk", "make room"));
            }
            let _ = write!(out, "ran");
            Ok(Exit::Unknown)
        };
        let exit = main(words.map(OsString::from), &mut out, &mut talk, run);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap())
    }

    #[test]
    fn each_ending_has_its_code_and_its_stream() {
        assert_eq!(run(&[]), (3, "ran".into(), String::new()));
        let (exit, out, talk) = run(&["--fails"]);
        assert_eq!((exit, out.as_str()), (4, ""));
        assert_eq!(talk, "error: the disk is full\n  at: disk\n  fix: make room\n");
        let (exit, out, talk) = run(&["--help"]);
        assert!(exit == 0 && out.contains("How it ends") && talk.is_empty());
        let (exit, out, talk) = run(&["--version"]);
        let version = concat!("sojourn-test ", env!("CARGO_PKG_VERSION"), " (");
        assert!(exit == 0 && out.starts_with(version) && talk.is_empty(), "{out}");
        assert!(out.ends_with("-linux-gnu)\n") || out.ends_with("-linux-musl)\n"), "{out}");
        let (exit, out, talk) = run(&["--fals"]);
        assert!(exit == 2 && out.is_empty() && talk.contains("--fals"), "{talk}");
    }
}
