//! What a job means: every quantity read, every `auto` decided, every contradiction refused.
//!
//! Nothing here opens a socket: a job that passes can only fail because of the world.

mod qos;
mod sessions;

use std::net::IpAddr;

use sojourn_base::clock::{Clock, Monotonic};
use sojourn_base::{Fault, rng, units};
use sojourn_workload::popularity;

pub use qos::{Qos, qos_bound_ns, qos_of};

use crate::job::target::Target;
use crate::job::{Job, SCHEMA};
use crate::plan::begin;
use crate::protocols;
use crate::transports;
use crate::transports::tls::Secure;
use crate::watch::cpu;

/// A year: beyond it, a time is a mistake in its unit.
const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// How long replies are waited for after the last request was due, unless the job says more.
const DRAIN_NS: u64 = 2_000_000_000;

/// Fewer items, hashed, could leave a server without any.
const ITEMS_PER_SERVER: u64 = 32;

/// Most requests in flight on one UDP connection: a lost one holds none of the others up.
const DEPTH_UDP: u32 = 16;

/// How a thread passes the time until the next request is due or a reply arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It never gives its CPU away: what it measures is not its own wake-up.
    Spin,
    /// It spins, and lets others on its CPU go first after each look at its connections.
    Yield,
    /// It sleeps in the kernel until the next request is due or a reply arrives.
    Sleep,
}

impl Wait {
    /// The word that people type for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Yield => "yield",
            Self::Sleep => "sleep",
        }
    }

    /// Whether it looks at its connections all the time, or the kernel wakes it when to.
    pub fn is_busy(self) -> bool {
        self != Self::Sleep
    }
}

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
    let time = |key: &str, text: &str| units::parse_ns(text).map_err(|fault| fault.within(key));
    let duration_ns = time("duration", &job.duration)?;
    if duration_ns > LONGEST_NS {
        let what = format!("duration is {}", job.duration);
        return Err(Fault::usage(what, "duration", "give a year at most"));
    }
    if duration_ns == 0 {
        return Err(Fault::usage("duration is 0", "duration", "give a time above 0, such as 10s"));
    }
    let warmup_ns = time("warmup", &job.warmup)?;
    let outage_over_ns = time("outage_over", &job.outage_over)?;
    let qos = qos_of(&job)?;
    let timeout_ns = match job.timeout.as_str() {
        "auto" => timeout_auto_ns(qos),
        text => time("timeout", text)?,
    };
    let drain_ns = match job.drain.as_str() {
        "auto" if job.timeout == "auto" => DRAIN_NS,
        "auto" => timeout_ns.max(DRAIN_NS),
        text => time("drain", text)?,
    };
    if timeout_ns == 0 {
        let fix = "give a time above 0, such as 1s, or auto";
        return Err(Fault::usage("timeout is 0: no reply can come in time", "timeout", fix));
    }
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
        "auto" => timely_within_auto_ns(qos) + doze_ns,
        text => time("timely_within", text)?,
    };
    if job.depth == 0 {
        let usual = protocols::kind_of(&target).depth;
        job.depth = if target.is_datagram() { DEPTH_UDP } else { usual };
    }
    if job.seed == 0 {
        job.seed = rng::fresh_seed();
    }
    job.timely_within = format!("{timely_within_ns}ns");
    job.timeout = format!("{timeout_ns}ns");
    job.drain = format!("{drain_ns}ns");
    job.transport = transport.kind.name.into();
    job.wait = match doze_ns {
        0 => wait.name().into(),
        ns => format!("sleep:{ns}ns"),
    };
    Ok(Resolved {
        job,
        target,
        duration_ns,
        warmup_ns,
        drain_ns,
        timeout_ns,
        sources,
        timely_within_ns,
        outage_over_ns,
        qos,
        cpus,
        instrument_cpus,
        server_cpus: (!server_cpus.is_empty()).then_some(server_cpus),
        wait,
        doze_ns,
        secure,
        transport,
    })
}

/// Ten times the `QoS` bound, or 1 s without one.
fn timeout_auto_ns(qos: Option<Qos>) -> u64 {
    qos.map_or(1_000_000_000, |qos| qos.bound_ns.saturating_mul(10))
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

/// 50 µs, or 1 % of the `QoS` bound if that is more. Source: METHOD M3 (timely sending). It leaves room for what the
/// kernel takes to wake a thread whose timer has run out (the timers' own slack is 1 ns, see `cpu`);
/// what a thread that sleeps puts its wake-ups off by intent is added to it.
fn timely_within_auto_ns(qos: Option<Qos>) -> u64 {
    qos.map_or(0, |qos| qos.bound_ns / 100).max(50_000)
}

fn check_schema(job: &Job) -> Result<(), Fault> {
    if job.schema == SCHEMA {
        return Ok(());
    }
    Err(Fault::usage(
        format!("the job has the form '{}', this program reads '{SCHEMA}'", job.schema),
        "schema",
        "use the program of the same release as the writer of the job",
    ))
}

fn check_counts(job: &Job, target: &Target) -> Result<(), Fault> {
    let within = |key: &str, value: u64, least: u64, most: u64| {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let fix = format!("give a number from {least} to {most}");
        Err(Fault::usage(format!("{key} is {value}"), key, fix))
    };
    within("threads", job.threads.into(), 1, 1024)?;
    within("connections", job.connections.into(), u64::from(job.threads), 1_000_000)?;
    within("depth", job.depth.into(), 0, 4096)?;
    within("items", job.items, 1, u64::from(u32::MAX))?;
    within("multiget_keys", job.multiget_keys.into(), 1, 1000)?;
    within("requests_max", job.requests_max, 1, u64::from(u32::MAX))?;
    check_share("set_share", job.set_share)?;
    check_share("multiget_share", job.multiget_share)?;
    check_share("excluded_share_max", job.excluded_share_max)?;
    check_share("disturbed_share_max", job.disturbed_share_max)?;
    check_share("outage_share_max", job.outage_share_max)?;
    if !(job.probe_rate >= 0.0 && job.probe_rate.is_finite()) {
        let fix = "give a rate of 0 (no probe) or more, requests/s";
        return Err(Fault::usage(format!("probe_rate is {}", job.probe_rate), "probe_rate", fix));
    }
    check_servers(job, target)?;
    if popularity::name_of(&job.popularity) == "order" && job.threads > 1 {
        let what = format!("{} threads do not keep one order", job.threads);
        return Err(Fault::usage(what, "popularity", "use one thread, or another popularity"));
    }
    if target.is_unix() && !job.source.is_empty() {
        let what = "connections to a unix socket come from no address";
        return Err(Fault::usage(what, "source", "leave it out"));
    }
    protocols::kind_of(target).check(job, target)
}

/// Several servers share the keys, each with a connection of every thread.
fn check_servers(job: &Job, target: &Target) -> Result<(), Fault> {
    let servers = target.servers() as u64;
    if servers == 1 {
        return Ok(());
    }
    let refused = |what: String, at: &str, fix: String| Err(Fault::usage(what, at, fix));
    if !protocols::kind_of(target).shards {
        let what = format!("{} takes one server, the target names {servers}", target.scheme.name);
        return refused(what, "target", "give one, or a target of memcache".into());
    }
    if job.multiget_share > 0.0 {
        let what = format!("the keys of one multi-GET lie on {servers} servers");
        return refused(what, "multiget_share", "leave it out, or name one server".into());
    }
    let (least, items) = (u64::from(job.threads) * servers, servers * ITEMS_PER_SERVER);
    if u64::from(job.connections) < least {
        let what = format!("{} connections for {servers} servers", job.connections);
        let fix = format!("give {least} or more: one for each server and thread");
        return refused(what, "connections", fix);
    }
    if job.items < items {
        let what = format!("{} items on {servers} servers", job.items);
        return refused(what, "items", format!("give {items} or more, so that each holds some"));
    }
    Ok(())
}

/// Only the result goes to standard output; a file called `-` would be a surprise.
fn check_places(job: &Job) -> Result<(), Fault> {
    for (key, place) in [("hlog", &job.hlog), ("seconds", &job.seconds), ("raw", &job.raw)] {
        if place == "-" {
            let what = format!("{key} cannot go to standard output");
            return Err(Fault::usage(what, key, "name a file; only --json can go to stdout"));
        }
    }
    let whole = [(!job.raw.is_empty(), "raw"), (job.find_max, "find_max")];
    if let Some((_, key)) = whole.into_iter().find(|(is_asked, _)| *is_asked)
        && !job.seconds.is_empty()
    {
        let what = format!("a run with {key} is kept in memory, so its seconds are not written");
        return Err(Fault::usage(what, "seconds", format!("leave out seconds or {key}")));
    }
    Ok(())
}

fn check_share(key: &str, share: f64) -> Result<(), Fault> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(Fault::usage(format!("{key} is {share}"), key, "give a share from 0 to 1"))
}

fn check_turns(job: &Job, wait: Wait, cpus: &[usize]) -> Result<(), Fault> {
    if job.turns.is_empty() || (wait == Wait::Yield && !cpus.is_empty() && !job.find_max) {
        return Ok(());
    }
    let what = "turns are taken by clients that yield on given CPUs, at planned times";
    Err(Fault::usage(what.to_owned(), "turns", "give wait = yield and cpus, or leave turns out"))
}

fn wait_of(job: &Job, cpus: &[usize]) -> Result<(Wait, u64), Fault> {
    match job.wait.as_str() {
        "spin" => Ok((Wait::Spin, 0)),
        "yield" => Ok((Wait::Yield, 0)),
        // A closed loop has nothing that is due: batches go further than haste.
        "auto" if !job.find_max && has_cpu_each(job.threads as usize, cpus) => Ok((Wait::Spin, 0)),
        "sleep" | "auto" => Ok((Wait::Sleep, 0)),
        other => match other.strip_prefix("sleep:") {
            Some(time) => {
                let doze_ns = units::parse_ns(time).map_err(|fault| fault.within("wait"))?;
                Ok((Wait::Sleep, doze_ns))
            }
            None => Err(Fault::usage(
                format!("no way to wait is called '{other}'"),
                "wait",
                "use spin, yield, sleep, sleep:TIME (such as sleep:40us) or auto",
            )),
        },
    }
}

/// Whether every thread has a CPU to itself: pinned to as many CPUs as threads, or, not pinned,
/// at least one CPU more than threads remains for the server.
fn has_cpu_each(threads: usize, cpus: &[usize]) -> bool {
    if cpus.is_empty() {
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        return threads < allowed;
    }
    threads <= cpus.len()
}

#[cfg(test)]
mod tests;
