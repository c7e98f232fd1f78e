//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_base::kind::{Catalogue, Table};
use sojourn_base::{Exit, Fault, cpus, files, program};

use crate::antagonists;
use crate::args::Args;
use crate::run;

/// Runs the program on `words` until `stop` is set, and answers its exit code.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &Arc<AtomicBool>,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, out, _| act(&args, stop, out))
}

fn act(args: &Args, stop: &Arc<AtomicBool>, out: &mut dyn Write) -> Result<Exit, Fault> {
    if args.describe {
        return files::say(out, &describe()).map(|()| Exit::Ok);
    }
    if args.list {
        return files::say(out, &list()).map(|()| Exit::Ok);
    }
    let job = args.job()?;
    cpus::pin(&job.cpus)?;
    let ready = run::ready(job)?;
    if args.check {
        ready.check()?;
        return files::say(out, "the job is right\n").map(|()| Exit::Ok);
    }
    ready.run(stop, out)
}

fn describe() -> String {
    Catalogue {
        program: "sojourn-noise",
        version: env!("CARGO_PKG_VERSION"),
        tables: vec![Table::of("antagonists", antagonists::KINDS)],
    }
    .json()
}

fn list() -> String {
    let mut text = String::new();
    for entry in antagonists::KINDS {
        let kind = &entry.kind;
        let _ = writeln!(text, "{:<10}{} ({}/s)", kind.name, kind.about, entry.unit);
        for param in kind.params {
            let default = if param.default.is_empty() { "chosen" } else { param.default };
            let _ = writeln!(text, "{:12}{:<10}{} [{default}]", "", param.name, param.about);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn run(words: &[&str]) -> (u8, String, String) {
        let words = std::iter::once("sojourn-noise").chain(words.iter().copied());
        let (mut out, mut talk) = (Vec::new(), Vec::new());
        let stop = Arc::new(AtomicBool::new(false));
        let exit = main(words.map(OsString::from), &stop, &mut out, &mut talk);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap())
    }

    fn lines(out: &str) -> Vec<serde_json::Value> {
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn mistakes_are_refused_before_anything_is_made() {
        let wrong: [(&[&str], &str, &str); 12] = [
            (&[], "kind", "--list"),
            (&["lcc"], "kind", "did you mean llc"),
            (&["cpu", "-i", "150%"], "intensity", "0% to 100%"),
            (&["cpu", "-i", "fast"], "intensity", "0% to 100%"),
            (&["llc", "-p", "sise=1MiB"], "params.sise", "did you mean size"),
            (&["llc", "-p", "size"], "param", "NAME=VALUE"),
            (&["llc", "-p", "size=900TB"], "params.size", "at most"),
            (&["disk", "-p", "folder=/nowhere"], "params.folder", "may be written"),
            (&["wave", "-p", "busy=2s", "-p", "period=1s"], "params.busy", "at most the period"),
            (&["cpu", "--cpus", "x"], "cpus", "0,2-3"),
            (&["cpu", "--grain", "0s"], "grain", "1us"),
            (&["cpu", "--most", "0"], "most", "above 0"),
        ];
        for (words, at, fix) in wrong {
            let (exit, out, talk) = run(words);
            assert_eq!((exit, out.as_str()), (2, ""), "{words:?}: {talk}");
            assert!(talk.contains(&format!("at: {at}")), "{words:?}: {talk}");
            assert!(talk.contains(fix), "{words:?}: {talk}");
        }
    }

    #[test]
    fn it_lists_and_describes_and_checks() {
        assert!(run(&["--list"]).1.contains("wave"));
        let described: serde_json::Value = serde_json::from_str(&run(&["--describe"]).1).unwrap();
        let kinds = &described["catalogue"]["tables"][0]["kinds"];
        assert_eq!(kinds.as_array().map(Vec::len), Some(antagonists::KINDS.len()));
        assert_eq!(run(&["cpu", "--check"]).0, 0);
    }

    #[test]
    fn the_first_line_says_what_is_asked_and_the_last_sums_up() {
        let words = ["cpu", "-i", "20%", "--duration", "60ms", "--most", "1M"];
        let (exit, out, talk) = run(&words);
        assert_eq!((exit, talk.as_str()), (0, ""), "too short to be judged");
        let lines = lines(&out);
        assert_eq!(lines[0]["asked_per_s"], 2e5);
        assert_eq!(lines[0]["calibration"]["by"], "given");
        let last = lines.last().unwrap();
        assert_eq!(last["is_summary"], true);
        assert!(last["is_held"].is_null(), "{last}");
        assert_eq!(last["units"], lines[lines.len() - 2]["units"]);
    }

    /// 256 pages a second; flat out it would be millions, and a CPU with them.
    #[test]
    fn memory_that_is_all_held_is_touched_no_faster() {
        let (exit, out, talk) = run(&["memcap", "-p", "size=1MiB", "-d", "100ms"]);
        assert_eq!((exit, talk.as_str()), (0, ""), "too short to be judged");
        let lines = lines(&out);
        let first = &lines[0];
        assert_eq!(first["is_flat_out"], false, "{first}");
        assert_eq!((&first["asked_per_s"], &first["alone_per_s"]), (&256.0.into(), &256.0.into()));
        let last = lines.last().unwrap();
        let due = 256.0 * last["t_s"].as_f64().unwrap();
        assert!(last["units"].as_f64().unwrap() <= due + 5.0, "a burst of 5 pages ahead: {last}");
    }

    #[test]
    fn a_time_beyond_the_clock_has_no_end() {
        let stop = Arc::new(AtomicBool::new(false));
        let ender = Arc::clone(&stop);
        let words = ["sojourn-noise", "cpu", "--most", "1M", "-d", "1e30s"].map(OsString::from);
        let mut out = Vec::new();
        let (exit, is_early) = std::thread::scope(|scope| {
            let worker = scope.spawn(|| main(words, &stop, &mut out, &mut Vec::new()));
            std::thread::sleep(std::time::Duration::from_millis(100));
            let is_early = worker.is_finished();
            ender.store(true, Ordering::Relaxed);
            (worker.join().unwrap(), is_early)
        });
        assert_eq!((exit, is_early), (0, false));
    }
}
