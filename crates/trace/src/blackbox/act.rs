//! From the options to the loop that runs until it is stopped.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sojourn_base::{Exit, Fault, files, scrape};

use super::args::RingArgs;
use super::folder::Folder;
use super::hooks::Hooks;
use super::listen::{self, Text};
use super::log::Log;
use super::service::By;
use super::turns::Ring;
use super::unit;
use super::windows::Windows;
use crate::attach::how::How;
use crate::attach::last::Last;
use crate::attach::target;
use crate::session;

/// How often the rings are emptied; a burst of slow requests fills a quarter of one meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the black box until `stop` is set, or until the process of `--pid` has ended.
pub fn act(
    args: &RingArgs,
    (pid, ports): (u32, &[u16]),
    windows: Option<How>,
    stop: &AtomicBool,
    (out, talk): (&mut dyn Write, &mut dyn Write),
) -> Result<Exit, Fault> {
    let asked = args.asked()?;
    let by = By::read(pid, args.comm.as_deref(), args.cgroup.as_deref())?;
    let address = args.listen.as_deref().map(scrape::address).transpose()?;
    if args.systemd {
        let text = unit::unit(&own_words(), &args.dumps, args.log.as_deref())?;
        files::say(out, &text)?;
        return Ok(Exit::Ok);
    }
    session::check_host()?;
    if let By::Pid(pid) = by {
        target::find(Path::new("/proc"), pid, ports)?; // says what is wrong with it
    }
    let folder = Folder::new(&args.dumps, args.dumps_max, asked.dumps_bytes)?;
    let mut log = Log::new(args.log.clone(), talk)?;
    if let swept @ 1.. = folder.sweep()? {
        let about = "of dumps that an earlier start did not finish";
        log.line(&format!("{swept} removed from {}: files {about}", args.dumps.display()));
    }
    let text = Text::default();
    if let Some(address) = address {
        let url = listen::serve(address, Arc::clone(&text))?;
        log.line(&format!("metrics on {url}"));
    }
    let _last = Last::new();
    let hooks = Hooks::load()?;
    let (dump, reopen) = (flag(signal_hook::consts::SIGUSR1)?, flag(signal_hook::consts::SIGHUP)?);
    let windows = windows.map(|how| Windows::start(how, ports));
    let whom = by.words();
    let mut ring = Ring::new((by, ports), (asked, args.room), (folder, text), hooks, windows)?;
    log.line(&format!("waiting for {}; dumps go to {}", whom, args.dumps.display()));
    while !stop.load(Ordering::Relaxed) {
        if reopen.swap(false, Ordering::Relaxed) {
            log.reopen();
        }
        if ring.turn(dump.swap(false, Ordering::Relaxed), &mut log)? {
            break;
        }
        std::thread::sleep(LOOK);
    }
    ring.finish(dump.swap(false, Ordering::Relaxed), &mut log)?;
    Ok(Exit::Ok)
}

/// The command line as it was given, less what printed the unit.
fn own_words() -> Vec<String> {
    let program = std::env::current_exe().map(PathBuf::into_os_string).unwrap_or_default();
    let words = std::env::args_os().skip(1).filter(|word| word != "--systemd");
    std::iter::once(program)
        .chain(words)
        .map(|word: OsString| word.to_string_lossy().into_owned())
        .collect()
}

fn flag(signal: i32) -> Result<Arc<AtomicBool>, Fault> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|error| {
        Fault::failed(
            format!("signal {signal} cannot be waited for: {error}"),
            "--ring",
            "report it",
        )
    })?;
    Ok(flag)
}
