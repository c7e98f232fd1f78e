//! The program: from a command line to an exit code. Writes only to the streams and files that it is given.

use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sojourn_base::kind::{Catalogue, Table};
use sojourn_base::{Exit, Fault, cpus, files, program, rng};
use sojourn_workload::dist;

use crate::args::{Args, Mode, Settings};
use crate::calls::Target;
use crate::protocols;
use crate::queue::Queue;
use crate::server::Server;
use crate::stall::Stalls;

/// Runs the program on `words` until `stop` is set, and answers its exit code.
pub fn main(
    words: impl IntoIterator<Item = OsString>,
    stop: &Arc<AtomicBool>,
    out: &mut dyn Write,
    talk: &mut dyn Write,
) -> u8 {
    program::main(words, out, talk, |args, out, _| act(args, stop, out))
}

fn act(args: Args, stop: &AtomicBool, out: &mut dyn Write) -> Result<Exit, Fault> {
    if args.describe {
        return files::say(out, &describe()).map(|()| Exit::Ok);
    }
    args.json.as_deref().map_or(Ok(()), files::check_writable)?;
    let mut settings = args.settings;
    if settings.seed == 0 {
        settings.seed = rng::fresh_seed();
    }
    let service = service(&settings)?;
    let service_ns_asked = service.mean();
    let server = server(&settings, service)?;
    let address = server.address().map_err(|error| {
        Fault::failed(format!("the socket has no address: {error}"), "port", "choose another port")
    })?;
    let first = json!({
        "listening": address.to_string(),
        "port": address.port(),
        "protocol": settings.protocol,
        "seed": settings.seed,
    });
    files::say(out, &format!("{first}\n"))?;
    let notes = server.run(stop)?;
    let report = notes.report(&settings, service_ns_asked);
    let text = serde_json::to_string(&report).expect("a report is plain data");
    match &args.json {
        Some(path) => write(path, &text)?,
        None => files::say(out, &format!("{text}\n"))?,
    }
    Ok(Exit::Ok)
}

fn service(settings: &Settings) -> Result<dist::Dist, Fault> {
    let service = dist::parse_ns(&settings.service).map_err(|fault| fault.within("service"))?;
    if settings.servers == 0 {
        return Err(Fault::usage("there are 0 servers", "servers", "give 1 server or more"));
    }
    Ok(service)
}

fn server(settings: &Settings, service: dist::Dist) -> Result<Server, Fault> {
    let parse = protocols::find(&settings.protocol)?.parse;
    let stalls = Stalls::parse(&settings.stall)?;
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    cpus::pin(&settings.cpus)?;
    let host: IpAddr = settings.host.parse().map_err(|_| {
        let what = format!("'{}' is no IP address", settings.host);
        Fault::usage(what, "host", "write an address of this machine, such as 127.0.0.1 or ::1")
    })?;
    let queue = Queue::new(service, settings.servers, stalls, settings.seed);
    let address = SocketAddr::new(host, settings.port);
    let target = Target::read(&settings.call, &settings.call_timeout)?;
    let spins = settings.mode == Mode::Spin;
    Server::bind(address, parse, queue, !settings.free_writes, spins)
        .map(|server| server.calling(target))
}

fn describe() -> String {
    Catalogue {
        program: "sojourn-serve",
        version: env!("CARGO_PKG_VERSION"),
        tables: vec![
            Table::of("protocols", protocols::KINDS),
            Table::of("distributions", dist::KINDS),
        ],
    }
    .json()
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    files::write_whole(path, "the report", |out| writeln!(out, "{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> (u8, String, String) {
        let words = std::iter::once("sojourn-serve").chain(words.iter().copied());
        let (mut out, mut talk) = (Vec::new(), Vec::new());
        let stop = Arc::new(AtomicBool::new(true));
        let exit = main(words.map(OsString::from), &stop, &mut out, &mut talk);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap())
    }

    #[test]
    fn the_first_line_names_the_port_and_the_last_is_the_report() {
        let (exit, out, _) = run(&["--service", "exponential:200us", "--mode", "sleep"]);
        assert_eq!(exit, 0);
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines[0]["port"].as_u64().unwrap() > 0);
        assert_eq!(lines[1]["service_ns_asked"], 200_000.0);
        assert!(lines[1]["settings"]["seed"].as_u64().unwrap() > 0);
    }

    #[test]
    fn mistakes_are_usage_faults_that_say_where() {
        let wrong = [
            (["--service", "exponental:1us"], "service"),
            (["--protocol", "http"], "protocol"),
            (["--stall", "1s/1s"], "stall"),
            (["--servers", "0"], "servers"),
            (["--cpus", "x"], "cpus"),
            (["--cpus", "1000"], "cpus"),
            (["--host", "nowhere"], "host"),
            (["--call", "nowhere"], "call"),
        ];
        for (words, at) in wrong {
            let (exit, _, talk) = run(&words);
            assert_eq!(exit, 2, "{words:?}");
            assert!(talk.contains(&format!("at: {at}")), "{words:?}: {talk}");
        }
        assert_eq!(run(&["--bogus"]).0, 2);
    }

    #[test]
    fn the_description_lists_every_kind() {
        let (_, out, _) = run(&["--describe"]);
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["catalogue"]["tables"][0]["kinds"][0]["name"], "memcache");
    }
}
