//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::CommandFactory;
use sojourn_base::scrape::Listener;
use sojourn_base::{Exit, Fault, files, program};

use crate::cli::{Args, ProgressForm};
use crate::drive::measurement::Measurement;
use crate::drive::progress::{Form, Progress};
use crate::drive::ready;
use crate::job::Job;
use crate::judge::result::{RunResult, Verdict};
use crate::judge::selfcheck;
use crate::measure;
use crate::output::describe;
use crate::output::hlog;
use crate::output::pretty_json;
use crate::output::raw;
use crate::output::table;
use crate::plan::resolve::{Resolved, resolve};

/// Runs the program on `words` and answers its exit code.
///
/// `stop` is set by a signal handler: the run ends and is written as far as it went.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &Arc<AtomicBool>,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, out, talk| act(&args, stop, out, talk))
}

fn act(
    args: &Args,
    stop: &Arc<AtomicBool>,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> Result<Exit, Fault> {
    if args.output.describe {
        return files::say(out, &describe::json()).map(|()| Exit::Ok);
    }
    if let Some(shell) = args.output.completions {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Args::command(), "sojourn-load", &mut script);
        return files::say(out, &String::from_utf8_lossy(&script)).map(|()| Exit::Ok);
    }
    let resolved = resolve(args.job()?)?;
    let json = args.output.json.as_deref();
    let Job { hlog, seconds, raw, .. } = &resolved.job;
    let logs = [hlog, seconds, raw].into_iter().filter(|path| !path.is_empty());
    json.into_iter().chain(logs.map(Path::new)).try_for_each(files::check_writable)?;
    if args.output.check {
        return ready::check(&resolved).map(|_| Exit::Ok);
    }
    let listener = args.output.listen.as_deref().map(Listener::open).transpose()?;
    if let Some(listener) = &listener {
        let _ = writeln!(talk, "metrics at {}", listener.url());
    }
    let every = Duration::from_nanos(args.output.progress_every);
    let bound_ns = resolved.qos.map(|qos| qos.bound_ns);
    let mut progress =
        Progress::new(form(args.output.progress)).every(every).bound(bound_ns).listen(listener);
    progress.status("drawing the plan");
    let measured = measure::measure(&resolved, stop, &mut progress);
    progress.status("");
    let measured = measured?;
    let result = &measured.result;
    let written = write_json(json, result, out);
    let shown = if is_stdout(json) { Ok(()) } else { files::say(out, &table::table(result)) };
    let logged = write_beside(&measured.run);
    written.and(shown).and(logged)?;
    exit(&resolved, &measured)
}

/// Writes what the job asks for beside the result. Each is tried whatever became of the others: a full disk, or
/// a reader that is gone, costs no more than it must.
fn write_beside(run: &Measurement) -> Result<(), Fault> {
    let path = |text: &str| (!text.is_empty()).then(|| Path::new(text).to_path_buf());
    let logged = path(&run.job.hlog).map_or(Ok(()), |path| hlog::write(run, &path));
    let retained = path(&run.job.raw).map_or(Ok(()), |path| raw::write(run, &path).map(|_| ()));
    let seconds = run.long.as_ref().map_or(Ok(()), |result| result.seconds.clone());
    logged.and(retained).and(seconds)
}

/// The exit code that the run deserves; a server that was lost is a failure that says so.
fn exit(resolved: &Resolved, measured: &measure::Judged) -> Result<Exit, Fault> {
    if measured.was_interrupted {
        return Ok(Exit::Interrupted);
    }
    if measured.run.was_lost {
        return Err(Fault::failed(
            selfcheck::LOST,
            resolved.job.target.clone(),
            "see why the server stopped; what was measured until then is in the result",
        ));
    }
    Ok(match measured.result.verdict {
        Verdict::Holds => Exit::Ok,
        Verdict::Violated => Exit::Violated,
        Verdict::Unknown => Exit::Unknown,
    })
}

fn form(asked: ProgressForm) -> Form {
    match asked {
        ProgressForm::Text => Form::Text,
        ProgressForm::Json => Form::Json,
        ProgressForm::Auto if io::stderr().is_terminal() => Form::Text,
        ProgressForm::Auto | ProgressForm::Off => Form::Off,
    }
}

fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-")
}

/// Writes the result, whole or not at all.
fn write_json(path: Option<&Path>, result: &RunResult, out: &mut dyn Write) -> Result<(), Fault> {
    let Some(path) = path else { return Ok(()) };
    let text = pretty_json::json(result);
    if is_stdout(Some(path)) {
        return files::say(out, &text);
    }
    files::write_whole(path, "the result", |file| file.write_all(text.as_bytes()))
}
