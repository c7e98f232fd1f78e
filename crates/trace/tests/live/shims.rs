//! Pauses put into real servers from outside: each is found in the request it was put into, in the
//! right stage, and nowhere else.
//!
//! `shims/shim.c` is loaded before the C library of memcached, NGINX and Redis, delays every 500th read or
//! write of a request, and writes down which one and when. So the truth is known of every request, not
//! of a median. A pause in which the thread sleeps begins and ends with work: its thread may have to wait,
//! for its CPU or for the hypervisor, before it is asleep and after that. `SOJOURN_SHIM` names one that is
//! compiled already, for a VM without a compiler: its requests take a hundred times as long, so pauses are
//! longer, closer together and between fewer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use sojourn_trace::reconstruct::record::Record;

use crate::support::calm::{Judged, calmly, judge};
use crate::support::real::{Driven, Kind, Load, Real, drive};
use crate::support::{alone, index, trace};

/// What is done how often.
struct Plan {
    pause_ns: u64,
    /// Calls from one pause to the next.
    every: u64,
    connections: usize,
    /// So many pauses are enough.
    enough: u64,
}

const PLAN: Plan = Plan { pause_ns: 3_000_000, every: 500, connections: 16, enough: 40 };
const IN_VM: Plan = Plan { pause_ns: 60_000_000, every: 25, connections: 4, enough: 15 };
/// With fewer nothing is proved.
const LEAST: usize = 10;
const LONGEST: Duration = Duration::from_secs(15);
/// Bytes of the shim's `struct log`.
const LOG_BYTES: usize = 24 + 4096 * 24;

/// The shim of one server.
struct Shim {
    call: &'static str,
    how: &'static str,
    log: PathBuf,
}

/// What it did once: before which call, on whose connection, from when to when.
struct Pause {
    begin_ns: u64,
    end_ns: u64,
    peer_port: u16,
    call: u64,
}

impl Shim {
    fn new(call: &'static str, how: &'static str) -> Self {
        let log = env::temp_dir().join(format!("sojourn-shim-{}-{call}-{how}", std::process::id()));
        fs::write(&log, vec![0; LOG_BYTES]).unwrap();
        Self { call, how, log }
    }

    fn environment(&self) -> [(&str, String); 6] {
        [
            ("LD_PRELOAD", compiled().display().to_string()),
            ("SHIM_CALL", self.call.into()),
            ("SHIM_HOW", self.how.into()),
            ("SHIM_EVERY", plan().every.to_string()),
            ("SHIM_NS", plan().pause_ns.to_string()),
            ("SHIM_LOG", self.log.display().to_string()),
        ]
    }

    fn made(&self) -> u64 {
        word(&fs::read(&self.log).unwrap(), 16)
    }

    fn pauses(&self) -> Vec<Pause> {
        let log = fs::read(&self.log).unwrap();
        let pause = |n: usize| {
            let at = 24 + 24 * n;
            let last = word(&log, at + 16);
            let (begin_ns, end_ns) = (word(&log, at), word(&log, at + 8));
            Pause { begin_ns, end_ns, peer_port: last as u16, call: last >> 32 }
        };
        (0..word(&log, 16) as usize).map(pause).collect()
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.log);
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn plan() -> Plan {
    if env::var_os("SOJOURN_SHIM").is_some() { IN_VM } else { PLAN }
}

/// The shared library.
fn compiled() -> PathBuf {
    if let Some(path) = env::var_os("SOJOURN_SHIM") {
        return path.into();
    }
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shim.so");
    let done = Command::new("cc")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-shared", "-fPIC", "-O2", "-Wall", "tests/shims/shim.c", "-o"])
        .arg(&library)
        .output()
        .expect("a C compiler, cc, is there: see scripts/setup");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    library
}

/// Where pauses are to be found.
struct Wanted<'a> {
    /// Of which server, in which way.
    what: String,
    is_asleep: bool,
    /// The stage in which the thread works before and after the pause.
    worked: &'a dyn Fn(&Pause) -> &'static str,
}

impl Wanted<'_> {
    /// In the stage that it lengthens, or, if the thread sleeps, with its reason.
    fn stage(&self, pause: &Pause) -> &'static str {
        if self.is_asleep { "wait_sleep" } else { (self.worked)(pause) }
    }

    /// All of a pause is in its request, to the microsecond: what it was not on the CPU for has stages of its own.
    /// Whether the stage has the pause, but for a twentieth.
    fn has(&self, pause: &Pause, r: &Record) -> bool {
        let ns = |stage: &str| r.stage_ns[index(stage)];
        let length_ns = pause.end_ns - pause.begin_ns;
        let (inside_ns, work_ns) = (ns(self.stage(pause)), ns((self.worked)(pause)));
        let all_ns = work_ns + ns("runq_delay") + ns("stopped");
        let all_ns = if self.is_asleep { all_ns + inside_ns } else { all_ns };
        let what = &self.what;
        assert!(length_ns >= plan().pause_ns);
        assert!(all_ns + 1000 >= length_ns, "{what}: {length_ns} ns around a pause: {r:?}");
        !self.is_asleep || inside_ns + plan().pause_ns / 20 >= plan().pause_ns
    }
}

/// Pauses before `call` of a server of `kind`; `worked` says in which stage it works around each.
fn every_pause_is_found(
    kind: Kind,
    call: &'static str,
    how: &'static str,
    worked: impl Fn(&Pause) -> &'static str,
) {
    let what = format!("{kind:?} {call} {how}");
    let wanted = Wanted { what, is_asleep: how == "sleep", worked: &worked };
    calmly(|| {
        let shim = Shim::new(call, how);
        let Some(real) = Real::start(kind, &shim.environment()) else { return Ok(()) };
        real.keep("some", 100);
        let before = shim.made() as usize;
        let Plan { connections, enough, .. } = plan();
        let load = Load { connections, ask: real.get("some"), parts: 1 };
        let mut driven = Driven { requests: 0, reply_bytes: 0 };
        let (outcome, records) = trace(real.pid(), || {
            let began = Instant::now();
            driven = drive(&real, &load, &|| shim.made() >= enough || began.elapsed() > LONGEST);
        });
        assert_eq!(records.len() as u64, driven.requests, "{:?}", outcome.counts.reasons);
        let pauses = shim.pauses();
        let pauses = &pauses[before..];
        assert!(pauses.len() >= LEAST, "{} pauses only", pauses.len());
        check(&records, pauses, &wanted)
    });
}

/// Holds what was booked against what was done.
fn check(records: &[Record], pauses: &[Pause], wanted: &Wanted<'_>) -> Judged {
    let around = |pause: &Pause, r: &Record| {
        r.start_ns <= pause.begin_ns && r.start_ns + r.total_ns >= pause.end_ns
    };
    let (pause_ns, what) = (plan().pause_ns, &wanted.what);
    let (mut paused, mut elsewhere, mut behind, mut not_queued) = (Vec::new(), 0, 0, 0);
    let mut short = 0;
    for pause in pauses {
        let is_its = |r: &&Record| r.peer_port == pause.peer_port && around(pause, r);
        let its: Vec<&Record> = records.iter().filter(is_its).collect();
        assert_eq!(its.len(), 1, "{what}: a pause is in one request");
        let (r, length_ns) = (its[0], pause.end_ns - pause.begin_ns);
        short += usize::from(!wanted.has(pause, r));
        let off_ns = r.stage_ns[index("runq_delay")] + r.stage_ns[index("stopped")];
        let inside_ns = r.stage_ns[index(wanted.stage(pause))];
        elsewhere += usize::from(r.total_ns - inside_ns - off_ns > pause_ns / 2);
        paused.push((r.conn, r.start_ns));
        // Others of the same thread wait behind it, from when both were there.
        let waits = ["thread_busy", "batch_wait", "reply_wait", "runq_delay"];
        let is_behind =
            |o: &&Record| o.thread == r.thread && o.peer_port != r.peer_port && around(pause, o);
        for other in records.iter().filter(is_behind) {
            let waited_ns: u64 = waits.iter().map(|name| other.stage_ns[index(name)]).sum();
            behind += 1;
            not_queued += usize::from(waited_ns < length_ns * 9 / 10);
        }
    }
    // A pause would be seen in stages of those it was not put into.
    let stages: Vec<&str> = pauses.iter().map(|pause| wanted.stage(pause)).collect();
    let is_wrong = |r: &&Record| {
        !paused.contains(&(r.conn, r.start_ns))
            && stages.iter().any(|stage| r.stage_ns[index(stage)] > pause_ns / 2)
    };
    let wrong = records.iter().filter(is_wrong).count();
    let reported = format!(
        "{what}: {} of {} pauses found; {elsewhere} of them with time elsewhere, {short} too short; {behind} waited \
         behind, {not_queued} of them not queued; {wrong} of {} others with a pause",
        paused.len(),
        pauses.len(),
        records.len() - paused.len()
    );
    println!("{reported}");
    assert!(behind > 0, "nobody waited, and nothing was proved: {reported}");
    let (few, is_queued) = (pauses.len() / 10, not_queued <= behind / 10);
    assert!(short <= pauses.len() / 2, "sleeps are in another stage: {reported}");
    judge(short <= few && elsewhere <= few && is_queued && wrong <= few, || reported)
}

const MEMCACHED: Kind = Kind::Memcached { threads: 1 };

#[test]
fn memcached_before_read() {
    let Some(_alone) = alone() else { return };
    for how in ["sleep", "spin"] {
        every_pause_is_found(MEMCACHED, "read", how, |_| "dispatch");
    }
}

#[test]
fn memcached_before_write() {
    let Some(_alone) = alone() else { return };
    for how in ["sleep", "spin"] {
        every_pause_is_found(MEMCACHED, "write", how, |_| "application");
    }
}

#[test]
fn redis_before_read() {
    let Some(_alone) = alone() else { return };
    for how in ["sleep", "spin"] {
        every_pause_is_found(Kind::Redis, "read", how, |_| "dispatch");
    }
}

#[test]
fn redis_before_write() {
    let Some(_alone) = alone() else { return };
    for how in ["sleep", "spin"] {
        every_pause_is_found(Kind::Redis, "write", how, |_| "application");
    }
}

const NGINX: Kind = Kind::Nginx { workers: 2, is_corked: false };

#[test]
fn nginx_before_read() {
    let Some(_alone) = alone() else { return };
    for how in ["sleep", "spin"] {
        every_pause_is_found(NGINX, "read", how, |_| "dispatch");
    }
}

/// The headers leave in a call of their own, before the file: a pause between them is the reply's.
#[test]
fn nginx_before_write() {
    let Some(_alone) = alone() else { return };
    for how in ["sleep", "spin"] {
        let is_file = |pause: &Pause| pause.call == 3;
        let worked = |pause: &Pause| if is_file(pause) { "drain" } else { "application" };
        every_pause_is_found(NGINX, "write", how, worked);
    }
}

/// With `tcp_nopush` writing begins where the socket is corked, before both.
#[test]
fn nginx_before_corked_write() {
    let Some(_alone) = alone() else { return };
    let kind = Kind::Nginx { workers: 2, is_corked: true };
    for how in ["sleep", "spin"] {
        every_pause_is_found(kind, "write", how, |_| "write");
    }
}
