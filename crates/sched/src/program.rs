//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use sojourn_base::{Exit, Fault, files, program};

use crate::args::Args;
use crate::{host, job, load, run, terms};

/// Runs the program on `words` until `stop` is set, and answers its exit code.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, out, _| act(&args, stop, out).map(|()| Exit::Ok))
}

fn act(args: &Args, stop: &AtomicBool, out: &mut dyn Write) -> Result<(), Fault> {
    let root = Path::new("/");
    let plan = terms::plan(&job::read(&args.job)?)?;
    host::check(root)?;
    host::check_members(&plan, root)?;
    load::check()?;
    load::check_numbers(&plan, Path::new("/proc"))?;
    if let Some(path) = &args.verify {
        let mut text = String::new();
        for (program, cost) in run::verify(path, &plan)? {
            let _ = writeln!(text, "{program} {cost}");
        }
        return files::say(out, &text);
    }
    if args.check {
        return files::say(out, "the job is right\n");
    }
    run::run(&plan, stop, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_on(words: &[&str]) -> (u8, String, String) {
        let words = std::iter::once("sojourn-sched").chain(words.iter().copied());
        let (mut out, mut talk) = (Vec::new(), Vec::new());
        let exit = main(words.map(OsString::from), &AtomicBool::new(false), &mut out, &mut talk);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap())
    }

    #[test]
    fn mistakes_and_kernels_without_it_are_refused_before_anything_is_loaded() {
        let (exit, _, talk) = main_on(&["--job", r#"{"classes": [{"name": "a"}]}"#]);
        assert!(exit == 2 && talk.contains("no task is in the class 'a'"), "{talk}");
        assert_eq!(main_on(&["--jobb", "{}"]).0, 2);
        assert!(main_on(&["--help"]).1.contains("sched_ext"));
        if host::state(Path::new("/")).is_none() {
            let (exit, out, talk) = main_on(&["--check"]);
            assert_eq!((exit, out.as_str()), (2, ""), "{talk}");
            assert!(talk.contains("at: /sys/kernel/sched_ext, Linux"), "{talk}");
            assert!(talk.contains("fix: boot one with CONFIG_SCHED_CLASS_EXT=y"), "{talk}");
        }
    }
}
