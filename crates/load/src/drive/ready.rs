//! What precedes a run: it is refused, or its plans are drawn and its sockets opened.
//!
//! What can be refused is refused before a socket is opened.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use socket2::Socket;
use sojourn_base::Fault;
use sojourn_workload::plan::Plan;
use sojourn_workload::{arrivals, replay};

use crate::drive::Live;
use crate::drive::long::{self, Geometry};
use crate::job::address::Address;
use crate::plan::resolve::Resolved;
use crate::plan::schedule;
use crate::protocols::{self, Protocol};
use crate::transports::hello::Greeting;
use crate::transports::sockets::{self, files};

/// A run that is ready: everything drawn, allocated and connected.
pub struct Ready {
    pub(super) resolved: Resolved,
    pub(super) protocol: Arc<dyn Protocol>,
    pub(super) threads: Vec<(Plan, Vec<Socket>)>,
    /// What the probe client sends; the first thread does it.
    pub(super) probe: Option<Plan>,
    /// The ring of each thread in a long run, whose plans are drawn later.
    pub(super) ring: Option<Geometry>,
    /// Where connections lead, as [`Measurement`] has it.
    pub(super) addresses: Vec<String>,
    /// Counts of each thread, for whoever shows progress.
    pub live: Vec<Arc<Live>>,
}

/// The protocol of a run, once all is refused that can be before a socket is opened: sizes, arrivals,
/// popularity. It is built once: files that it reads may be pipes.
pub fn check(resolved: &Resolved) -> Result<Arc<dyn Protocol>, Fault> {
    let job = &resolved.job;
    let protocol = protocols::build(job, &resolved.target)?;
    let timetable = schedule::timetable(job)?;
    long::check_length(job, &timetable)?;
    arrivals::parse(&job.arrivals, timetable.arrivals_rps())?;
    schedule::workload(job)?.choice()?;
    // What was made of a log stays; its text, of up to a gigabyte, is not looked at again.
    for file in arrivals::trace_file(&job.arrivals).into_iter().chain([job.paths_file.as_str()]) {
        replay::forget(file);
    }
    Ok(protocol)
}

/// Draws the plans and opens the sockets; `protocol`: that of `check`.
pub fn prepare(
    resolved: &Resolved,
    protocol: Arc<dyn Protocol>,
    stop: &Arc<AtomicBool>,
) -> Result<Ready, Fault> {
    let ring = long::geometry(&resolved.job, &schedule::timetable(&resolved.job)?);
    let plans = (0..resolved.job.threads)
        .map(|thread| match ring {
            Some(_) => Ok(Plan::default()),
            None => schedule::draw(&resolved.job, thread),
        })
        .collect::<Result<Vec<Plan>, Fault>>()?;
    let probes = resolved.job.probe_rate > 0.0;
    let probe = probes.then(|| schedule::draw_probe(&resolved.job)).transpose()?;
    let mut servers = match resolved.transport.kind.name {
        "null" => Vec::new(),
        _ => resolved.target.addresses()?,
    };
    let threads = plans
        .into_iter()
        .zip(0..)
        .map(|(plan, thread)| {
            let probes = u32::from(thread == 0 && probe.is_some());
            let count = resolved.connections_of(thread) + probes;
            Ok((plan, connect(resolved, &mut servers, count, protocol.as_ref())?))
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let live = threads.iter().map(|_| Arc::new(Live::new(Arc::clone(stop)))).collect();
    let addresses = servers.iter().flatten().map(Address::to_string).collect();
    Ok(Ready { resolved: resolved.clone(), protocol, threads, probe, ring, addresses, live })
}

/// What is sent first on plain sockets: over TLS the greeting follows the handshake.
pub(super) fn on_sockets(resolved: &Resolved, protocol: &dyn Protocol) -> Greeting {
    if resolved.secure.is_some() { Greeting::default() } else { protocol.hello() }
}

fn connect(
    resolved: &Resolved,
    servers: &mut [Vec<Address>],
    count: u32,
    protocol: &dyn Protocol,
) -> Result<Vec<Socket>, Fault> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let (datagrams, hello) = (resolved.target.is_datagram(), on_sockets(resolved, protocol));
    let sockets = sockets::connect(servers, datagrams, &resolved.sources, count, &hello);
    sockets.map_err(|fault| files::numbered(fault, files_needed(resolved, protocol)))
}

/// Files that the whole run has open, the spares of its connections included.
pub(super) fn files_needed(resolved: &Resolved, protocol: &dyn Protocol) -> u64 {
    files::needed(resolved.job.connections, protocol.interleaves())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;
    use crate::plan::resolve::resolve;

    #[test]
    fn connections_of_all_threads_need_files_and_those_of_http2_have_spares() {
        let needed = |target: &str| {
            let target = target.into();
            let job = Job { target, threads: 4, connections: 400, ..Job::default() };
            let resolved = resolve(job).unwrap();
            files_needed(&resolved, check(&resolved).unwrap().as_ref())
        };
        assert_eq!(needed("http://127.0.0.1:1/"), files::needed(400, false));
        assert_eq!(needed("h2c://127.0.0.1:1/"), files::needed(400, true));
    }

    #[test]
    fn the_text_of_a_log_does_not_stay_in_memory_and_what_was_made_of_it_does() {
        let folder = std::env::temp_dir();
        let [log, times] = ["paths", "times"].map(|name| {
            let path = folder.join(format!("sojourn-ready-{name}-{}", std::process::id()));
            std::fs::write(&path, "1716890400.0 /a\n1716890400.5 /b\n1716890402.0 /a\n").unwrap();
            path.display().to_string()
        });
        for arrivals in [format!("trace:{log},speed=2"), format!("trace:{times},scaled")] {
            let job = Job {
                target: "http://127.0.0.1:1/".into(),
                paths_file: log.clone(),
                popularity: "order".into(),
                arrivals,
                ..Job::default()
            };
            assert!(replay::text(&log).is_ok(), "as --replay asks for its length");
            check(&resolve(job.clone()).unwrap()).unwrap();
            let files = [&log, &times];
            let texts = files.map(|file| std::fs::read(file).unwrap());
            for file in &files {
                std::fs::remove_file(file).unwrap();
            }
            assert!(files.iter().all(|file| replay::text(file).is_err()), "it is read anew");
            assert!(check(&resolve(job).unwrap()).is_ok(), "and the plan is not");
            files.iter().zip(texts).for_each(|(file, text)| std::fs::write(file, text).unwrap());
        }
        for file in [log, times] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
