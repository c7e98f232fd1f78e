//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sojourn_base::quantiles::name_of;
use sojourn_base::visible::in_line;
use sojourn_base::{Exit, Fault, files, program};

use crate::attach::kernel;
use crate::attach::target;
use crate::blackbox;
use crate::cli::{Args, Instead};
use crate::culprit::result::Blamed;
use crate::culprit::svg::Panel;
use crate::culprit::{flame, svg};
use crate::diff;
use crate::judge::few;
use crate::judge::made::{facts, result};
use crate::judge::result::{TraceResult, VerdictWord};
use crate::judge::verdict;
use crate::output::{chrome, describe, text, windows};
use crate::session::{self, Options};
use crate::times;
use crate::who;

/// Runs the program on `words` and answers its exit code. `stop` is set by a signal handler.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, out, talk| act(&args, stop, out, talk))
}

fn act(
    args: &Args,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    if let Some(Instead::Diff(args)) = &args.instead {
        return diff::act::act(args, out);
    }
    if args.describe {
        return print(out, &describe::json()).map(|()| Exit::Ok);
    }
    if args.black_box.ring {
        return record(args, stop, out, talk);
    }
    if let Some(cpus) = &args.who {
        return look(args, cpus, stop, out, talk);
    }
    if let Some(path) = &args.alone.times {
        return time(args, path, stop, out, talk);
    }
    let bounds = args.bounds()?;
    let options = Options {
        duration_ns: args.duration_ns()?,
        how: args.how()?,
        ring_bytes: args.ring_bytes()?,
        is_full: args.records.is_some(),
        worst: args.worst,
        hook_cost: args.hook_cost,
        blame: args.blamed_from(),
        all_stages: args.all_stages || args.records.is_some(),
        is_live: args.windows,
    };
    check_outputs(args)?;
    let (bound, json) = (args.bound.as_deref(), args.json.as_deref());
    let mut lines = windows::printer(args.windows, bound, json, out)?;
    session::check_host()?;
    let target = target::find(Path::new("/proc"), args.pid, &args.ports)?;
    let mut kept = crate::output::records::Writer::open(args.records.as_deref())?;
    if let Some(warning) = options.how.tail_warning() {
        let _ = writeln!(talk, "note: {warning}");
    }
    let mut begun = || {
        // Whoever started us may wait for this line before load begins.
        let _ = writeln!(
            talk,
            "tracing {} (pid {}), {}",
            in_line(&target.name),
            target.pid,
            args.duration
        );
    };
    let mut outcome = session::run_with_windows(
        &target,
        options,
        stop,
        &mut begun,
        &mut |record| kept.add(record),
        &mut lines,
    )?;
    drop(lines);
    let records = kept.close(&outcome.counts.threads);
    let mut result = result(&target, options, bounds, &mut outcome);
    if outcome.is_few {
        few::name_together(&mut result);
    }
    let drawn = draw(args, &result, outcome.blamed.as_ref());
    first_fault([records, drawn, write_results(args, &result, out)])?;
    Ok(exit(result.verdict.verdict, outcome.was_interrupted))
}

fn exit(verdict: VerdictWord, was_interrupted: bool) -> Exit {
    match verdict {
        _ if was_interrupted => Exit::Interrupted,
        VerdictWord::Holds => Exit::Ok,
        VerdictWord::Unknown => Exit::Unknown,
    }
}

/// The black box.
fn record(
    args: &Args,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    let windows = args.cost.as_ref().map(|_| args.how()).transpose()?;
    let whom = (args.pid, args.ports.as_slice());
    blackbox::act::act(&args.black_box, whom, windows, stop, (out, talk))
}

/// When each request came and was answered.
fn time(
    args: &Args,
    path: &Path,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    let unmatched_max = args.bounds()?.unmatched_max;
    let (duration_ns, ring_bytes) = (args.duration_ns()?, args.ring_bytes()?);
    check_outputs(args)?;
    session::check_host()?;
    let target = target::find(Path::new("/proc"), args.pid, &args.ports)?;
    let line = format!("tracing {} (pid {}), {}", in_line(&target.name), target.pid, args.duration);
    let processes = times::act::PROCESSES;
    let asked = times::act::Asked { path, duration_ns, ring_bytes, processes, unmatched_max };
    let result = times::act::act(facts(&target), &asked, stop, &mut || {
        let _ = writeln!(talk, "{line}");
    })?;
    write_json(args, &result, out)?;
    if !is_stdout(args.json.as_deref()) {
        print(out, &times::act::page(&result, path))?;
    }
    Ok(exit(result.verdict.verdict, stop.load(Ordering::Relaxed)))
}

/// Names who runs on some CPUs.
fn look(
    args: &Args,
    cpus: &str,
    stop: &AtomicBool,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    let (numbers, duration_ns) = (who::parse_cpus(cpus)?, args.duration_ns()?);
    check_outputs(args)?;
    session::check_host()?;
    let mut left_out = args.leave_out.clone();
    left_out.extend((args.pid != 0).then_some(args.pid));
    let mut begun = || {
        let _ = writeln!(talk, "watching CPU {cpus}, {}", args.duration);
    };
    let seen = who::watch::run(&numbers, &left_out, duration_ns, stop, &mut begun)?;
    let result = who::result(kernel::release(), seen);
    write_json(args, &result, out)?;
    if !is_stdout(args.json.as_deref()) {
        print(out, &who::text::page(&result))?;
    }
    let was_interrupted = stop.load(Ordering::Relaxed);
    Ok(if was_interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// Refuses places that cannot be written, before anything is traced.
fn check_outputs(args: &Args) -> Result<(), Fault> {
    let mut seen = Vec::new();
    for (flag, path) in [
        ("--json", &args.json),
        ("--records", &args.records),
        ("--times", &args.alone.times),
        ("--chrome", &args.chrome),
        ("--flame", &args.flame),
        ("--folded", &args.folded),
    ] {
        let Some(path) = path else { continue };
        if flag != "--json" && path.as_os_str() == "-" {
            return Err(Fault::usage("only --json can go to standard output", flag, "name a file"));
        }
        if seen.contains(&path) {
            let what = format!("{} is to hold two results", path.display());
            return Err(Fault::usage(what, flag, "name a file for each"));
        }
        seen.push(path);
        files::check_writable(path)?;
    }
    Ok(())
}

/// The flame graph and its lines, if they were asked for.
fn draw(args: &Args, result: &TraceResult, blamed: Option<&Blamed>) -> Result<(), Fault> {
    let Some(Blamed { tail, body, .. }) = blamed else { return Ok(()) };
    let Some(blame) = verdict::shown_blame(result) else { return Ok(()) };
    let quantile = name_of(blame.q);
    if let Some(path) = &args.flame {
        let title = format!("{}: where the time of a request goes", result.target.name);
        let slow = format!("at and above {quantile}");
        let tail = Panel { title: &slow, requests: blame.tail_requests, folded: tail };
        let body = Panel { title: "the others", requests: blame.body_requests, folded: body };
        write_file(path, &svg::draw(&title, &blame.answer, tail, body))?;
    }
    if let Some(path) = &args.folded {
        write_file(path, &flame::lines((&quantile, tail), ("others", body)))?;
    }
    Ok(())
}

/// What cannot be written keeps nothing else from being written: a trace may have taken hours.
fn write_results(args: &Args, result: &TraceResult, out: &mut dyn Write) -> Result<(), Fault> {
    let json = write_json(args, result, out);
    let chrome = args.chrome.as_deref().map_or(Ok(()), |path| {
        let text = chrome::trace(result).to_string();
        write_file(path, &text)
    });
    let is_page = !is_stdout(args.json.as_deref()) && !args.windows;
    let page = if is_page { print(out, &text::page(result)) } else { Ok(()) };
    first_fault([json, chrome, page])
}

/// All has been tried; what failed first is reported.
fn first_fault<const N: usize>(tried: [Result<(), Fault>; N]) -> Result<(), Fault> {
    tried.into_iter().collect()
}

fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-")
}

fn write_json(args: &Args, result: &impl Serialize, out: &mut dyn Write) -> Result<(), Fault> {
    let Some(path) = &args.json else { return Ok(()) };
    let mut json = serde_json::to_string_pretty(result).expect("plain data");
    json.push('\n');
    if is_stdout(Some(path)) { print(out, &json) } else { write_file(path, &json) }
}

fn print(out: &mut dyn Write, text: &str) -> Result<(), Fault> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| {
        Fault::failed(
            format!("cannot write the result: {error}"),
            "standard output",
            "is the pipe closed?",
        )
    })
}

fn write_file(path: &Path, text: &str) -> Result<(), Fault> {
    files::write_whole(path, "the result", |out| out.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[test]
    fn a_full_disk_keeps_back_nothing_else() {
        let result: TraceResult =
            serde_json::from_value(crate::diff::testing::result(&["read"], &[])).unwrap();
        let json = std::env::temp_dir().join(format!("sojourn-full-{}.json", std::process::id()));
        let path = json.display().to_string();
        for (full, other) in [("--json", "--chrome"), ("--chrome", "--json")] {
            let words = ["t", "--pid", "1", full, "/dev/full", other, path.as_str()];
            let mut page = Vec::new();
            let fault = write_results(&Args::try_parse_from(words).unwrap(), &result, &mut page);
            let written = std::fs::read_to_string(&json);
            let _ = std::fs::remove_file(&json);
            assert!(fault.unwrap_err().at.contains("/dev/full"), "{full}");
            assert!(written.is_ok_and(|text| text.len() > 10), "{other} is there");
            assert!(String::from_utf8(page).unwrap().contains("verdict:"), "so is the page");
        }
    }
}
