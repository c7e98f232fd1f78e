//! What a job means: every quantity read, every `auto` decided, every contradiction refused.
//!
//! Nothing here opens a socket: a job that passes can only fail because of the world.

mod checks;
mod longest;
mod qos;
mod sessions;
mod times;
mod wait;

use std::net::IpAddr;

use sojourn_base::clock::{Clock, Monotonic};
use sojourn_base::{Fault, rng};

pub use qos::{Qos, qos_bound_ns, qos_of};
pub use wait::Wait;

use checks::{check_counts, check_places, check_schema, check_turns};
use longest::parsed;
use times::{Times, timely_within_auto_ns};
use wait::wait_of;

use crate::job::Job;
use crate::job::target::Target;
use crate::plan::begin;
use crate::protocols;
use crate::transports;
use crate::transports::tls::Secure;
use crate::watch::cpu;

/// Most requests in flight on one UDP connection: a lost one holds none of the others up.
const DEPTH_UDP: u32 = 16;

/// A job whose every value is known and possible.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// As it is recorded in the result: no `auto`, no seed 0.
    pub job: Job,
    /// Where requests go.
    pub target: Target,
    /// Length of the measured part, ns.
    pub duration_ns: u64,
    /// Length of the load before it, ns.
    pub warmup_ns: u64,
    /// How long replies are waited for after the last request was due, ns.
    pub drain_ns: u64,
    /// How long a reply is waited for after its request was sent, ns.
    pub timeout_ns: u64,
    /// A request sent at most this long after it was due is timely, ns.
    pub timely_within_ns: u64,
    /// A gap between two polls longer than this is an outage, ns.
    pub outage_over_ns: u64,
    /// The `QoS` target, if one was given.
    pub qos: Option<Qos>,
    /// Addresses that connections come from, in turn; empty: the kernel's choice.
    pub sources: Vec<IpAddr>,
    /// CPUs that threads are pinned to, thread `t` to entry `t % len`; empty: not pinned.
    pub cpus: Vec<usize>,
    /// CPUs of a synthetic service.
    pub instrument_cpus: Vec<usize>,
    /// CPUs of the server; `None`: unknown.
    pub server_cpus: Option<Vec<usize>>,
    /// What a thread does while nothing is due.
    pub wait: Wait,
    /// When it sleeps: how long, ns, a wake-up may be put off so that it serves several events.
    pub doze_ns: u64,
    /// What TLS needs; `None`: the target is reached without it.
    pub secure: Option<Secure>,
    /// The transport's entry in the table.
    pub transport: &'static transports::TransportKind,
}

impl Resolved {
    /// Whether its threads spin, on CPUs that are known not to be the server's, and send at planned times.
    pub fn is_apart(&self) -> bool {
        let server = self.server_cpus.as_deref().unwrap_or_default();
        let is_known = !server.is_empty() && !self.cpus.is_empty();
        let is_planned = self.wait == Wait::Spin && !self.job.find_max;
        is_planned && is_known && server.iter().all(|cpu| !self.cpus.contains(cpu))
    }

    /// Connections that thread `thread` drives: an even share, the first ones take the rest.
    pub fn connections_of(&self, thread: u32) -> u32 {
        let (all, threads) = (self.job.connections, self.job.threads);
        all / threads + u32::from(thread < all % threads)
    }

    /// CPUs on which nothing else should run while the load does.
    pub fn cpus_in_use(&self) -> Vec<usize> {
        let server = self.server_cpus.iter().flatten();
        self.cpus.iter().chain(server).chain(&self.instrument_cpus).copied().collect()
    }

    /// Length of the whole load, warm-up and measured part, ns.
    pub fn load_ns(&self) -> u64 {
        self.warmup_ns + self.duration_ns
    }
}

/// Reads, decides and checks everything in `job` that needs no server.
pub fn resolve(mut job: Job) -> Result<Resolved, Fault> {
    check_schema(&job)?;
    let target = protocols::target(&job.target).map_err(|fault| fault.within("target"))?;
    check_counts(&job, &target)?;
    check_places(&job)?;
    begin::check(job.start_at, Monotonic.now_ns())?;
    (protocols::kind_of(&target).settle)(&mut job, &target)?;
    sessions::check(&job, &target)?;
    let times = Times::of(&job)?;
    let sources = sources_of(&job)?;
    let cpus = cpu::usable("cpus", &job.cpus)?;
    let instrument_cpus = cpu::present("instrument_cpus", &job.instrument_cpus)?;
    let server_cpus = cpu::present("server_cpus", &job.server_cpus)?;
    if job.server_pid > 0 && server_cpus.is_empty() {
        return Err(Fault::usage(
            format!("server_pid is {} and its CPUs are not known", job.server_pid),
            "server_pid",
            "name server_cpus too: a sentinel watches each of them",
        ));
    }
    let transport = transports::choose(&job.transport, &target)?;
    let secure = Secure::of(&job, &target)?;
    let (wait, doze_ns) = wait_of(&job, &cpus)?;
    check_turns(&job, wait, &cpus)?;
    let timely_within_ns = match job.timely_within.as_str() {
        "auto" => timely_within_auto_ns(times.qos) + doze_ns,
        text => parsed("timely_within", text)?,
    };
    if job.depth == 0 {
        let usual = protocols::kind_of(&target).depth;
        job.depth = if target.is_datagram() { DEPTH_UDP } else { usual };
    }
    if job.seed == 0 {
        job.seed = rng::fresh_seed();
    }
    job.timely_within = format!("{timely_within_ns}ns");
    job.timeout = format!("{}ns", times.timeout_ns);
    job.drain = format!("{}ns", times.drain_ns);
    job.transport = transport.kind.name.into();
    job.wait = match doze_ns {
        0 => wait.name().into(),
        ns => format!("sleep:{ns}ns"),
    };
    Ok(Resolved {
        job,
        target,
        duration_ns: times.duration_ns,
        warmup_ns: times.warmup_ns,
        drain_ns: times.drain_ns,
        timeout_ns: times.timeout_ns,
        sources,
        timely_within_ns,
        outage_over_ns: times.outage_over_ns,
        qos: times.qos,
        cpus,
        instrument_cpus,
        server_cpus: (!server_cpus.is_empty()).then_some(server_cpus),
        wait,
        doze_ns,
        secure,
        transport,
    })
}

fn sources_of(job: &Job) -> Result<Vec<IpAddr>, Fault> {
    let texts = job.source.split(',').map(str::trim).filter(|text| !text.is_empty());
    texts
        .map(|text| {
            text.parse().map_err(|_| {
                let fix = "write addresses in numbers, such as 127.0.0.2,127.0.0.3";
                Fault::usage(format!("'{text}' is not an address"), "source", fix)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
