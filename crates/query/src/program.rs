//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::json;
use sojourn_base::kind::{Catalogue, Table};
use sojourn_base::{Exit, Fault, files, program};

use crate::args::{Args, Settings};
use crate::report::{Notes, Report};
use crate::server::{Server, answer};
use crate::work::{self, Work};

const THREADS_MAX: u32 = 4096;

/// Runs the program on `words` until `stop` is set, and answers its exit code.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &Arc<AtomicBool>,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args: Args, out, _| act(&args, stop, out))
}

fn act(args: &Args, stop: &AtomicBool, out: &mut dyn Write) -> Result<Exit, Fault> {
    if args.describe {
        return files::say(out, &describe()).map(|()| Exit::Ok);
    }
    let settings = &args.settings;
    let work = make(settings)?;
    let notes = match args.measure {
        Some(seconds) => vec![measured(&*work, settings, seconds, stop)?],
        None => served(&*work, settings, stop, out)?,
    };
    let report = Report { check: work.check(), ..Notes::report(&notes, settings) };
    let text = serde_json::to_string(&report).expect("a report is plain data");
    match &args.json {
        Some(path) => write(path, &text)?,
        None => files::say(out, &format!("{text}\n"))?,
    }
    held(&report)
}

/// A service whose data are broken does not end well.
fn held(report: &Report) -> Result<Exit, Fault> {
    let Some(check) = report.check.as_ref().filter(|check| check["state"] == "broken") else {
        return Ok(Exit::Ok);
    };
    let fix =
        "what it answered cannot be trusted; look at the machine's memory, then at the service";
    Err(Fault::failed("the data do not hold together", check["wrong"].to_string(), fix))
}

fn make(settings: &Settings) -> Result<Box<dyn Work>, Fault> {
    let kind = work::find(&settings.work)?;
    if settings.threads == 0 || settings.threads > THREADS_MAX {
        let what = format!("there are {} workers", settings.threads);
        return Err(Fault::usage(what, "threads", format!("give 1 to {THREADS_MAX}")));
    }
    if settings.queries == 0 {
        return Err(Fault::usage("there are 0 queries", "queries", "give 1 query or more"));
    }
    (kind.build)(settings)
}

fn served(
    work: &dyn Work,
    settings: &Settings,
    stop: &AtomicBool,
    out: &mut dyn Write,
) -> Result<Vec<Notes>, Fault> {
    let host: IpAddr = settings.host.parse().map_err(|_| {
        let what = format!("'{}' is no IP address", settings.host);
        Fault::usage(what, "host", "write an address of this machine, such as 127.0.0.1 or ::1")
    })?;
    let server =
        Server::bind(SocketAddr::new(host, settings.port), settings.threads, settings.queries)?;
    let address = server.address().map_err(|error| {
        Fault::failed(format!("the socket has no address: {error}"), "port", "choose another port")
    })?;
    let first = json!({
        "listening": address.to_string(),
        "port": address.port(),
        "work": settings.work,
    });
    files::say(out, &format!("{first}\n"))?;
    server.run(work, stop)
}

/// One query after the other in this thread: what one thread can do without a socket.
fn measured(
    work: &dyn Work,
    settings: &Settings,
    seconds: f64,
    stop: &AtomicBool,
) -> Result<Notes, Fault> {
    if !(seconds > 0.0 && seconds <= 3600.0) {
        let what = format!("{seconds} s cannot be measured");
        return Err(Fault::usage(what, "measure", "give seconds above 0, 3600 at most"));
    }
    let (mut desk, mut body, mut notes) = (work.desk(), String::new(), Notes::default());
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    for query in (0..settings.queries).cycle() {
        body.clear();
        answer(&mut *desk, query, &mut body, &mut notes);
        if stop.load(Relaxed) || Instant::now() >= end {
            break;
        }
    }
    Ok(notes)
}

fn describe() -> String {
    Catalogue {
        program: "sojourn-query",
        version: env!("CARGO_PKG_VERSION"),
        tables: vec![Table::of("work", work::KINDS)],
    }
    .json()
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    files::write_whole(path, "the report", |out| writeln!(out, "{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With little data; what `words` give again would be a mistake of the test.
    fn run(words: &[&str]) -> (u8, String, String) {
        run_until(words, true)
    }

    fn run_until(words: &[&str], is_stopped: bool) -> (u8, String, String) {
        let small: &[&str] = if words.contains(&"--hidden") { &[] } else { &["--hidden", "16"] };
        let head = ["sojourn-query", "--items", "1000"];
        let words = head.iter().chain(small).chain(words).map(OsString::from);
        let (mut out, mut talk) = (Vec::new(), Vec::new());
        let stop = Arc::new(AtomicBool::new(is_stopped));
        let exit = main(words, &stop, &mut out, &mut talk);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap())
    }

    #[test]
    fn the_first_line_names_the_port_and_the_last_is_the_report() {
        let (exit, out, talk) = run(&["--threads", "2"]);
        assert_eq!(exit, 0, "{talk}");
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines[0]["port"].as_u64().unwrap() > 0);
        assert_eq!(lines[1]["by_worker"], json!([0, 0]));
    }

    #[test]
    fn a_service_time_comes_with_its_interval() {
        let (exit, out, _) = run_until(&["--work", "ordered-map", "--measure", "0.2"], false);
        assert_eq!(exit, 0);
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        let mean = &report["service_ns"];
        let [lo, middle, hi] = ["lo", "mean", "hi"].map(|name| mean[name].as_f64());
        assert!(middle > Some(0.0));
        assert!(lo.is_none() || (lo <= middle && middle <= hi), "{mean}");
        assert_eq!(report["answered"], report["by_worker"][0]);
    }

    #[test]
    fn a_stop_ends_what_is_measured() {
        let (exit, out, _) = run(&["--work", "ordered-map", "--measure", "3600"]);
        assert_eq!(exit, 0);
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["answered"], 1);
    }

    #[test]
    fn mistakes_are_usage_faults_that_say_where() {
        let wrong = [
            (["--work", "img-dn"], "work"),
            (["--threads", "0"], "threads"),
            (["--queries", "0"], "queries"),
            (["--hidden", "0"], "hidden"),
            (["--host", "nowhere"], "host"),
            (["--measure", "0"], "measure"),
        ];
        for (words, at) in wrong {
            let (exit, _, talk) = run(&words);
            assert_eq!(exit, 2, "{words:?}");
            assert!(talk.contains(&format!("at: {at}")), "{words:?}: {talk}");
        }
    }

    #[test]
    fn the_description_lists_every_kind() {
        let (_, out, _) = run(&["--describe"]);
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["catalogue"]["tables"][0]["kinds"][1]["name"], "ordered-map");
    }
}
