//! Who may trace, one test at a time; what a trace of a server says; servers with pauses, and real ones.

pub mod calm;
pub mod child;
pub mod echo;
pub mod group;
pub mod log;
pub mod programs;
pub mod real;
pub mod ring;
pub mod server;

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_trace::attach::how::How;
use sojourn_trace::attach::target;
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::reconstruct::stages::STAGES;
use sojourn_trace::session::{self, Options, Outcome};

use calm::{Judged, judge};

pub const PAUSE_US: u32 = 20_000;
pub const PAUSE_NS: u64 = PAUSE_US as u64 * 1000;

static ONE: Mutex<()> = Mutex::new(());

/// Set: a test may be left out even as root, where it usually cannot be for lack of rights.
pub const ALLOW_SKIP: &str = "SOJOURN_ALLOW_SKIP";

/// The right to trace, alone: tests would slow each other down. `None`: this machine cannot, and it
/// has been reported why, past the test runner, which hides what passing tests print.
///
/// # Panics
/// As root: there a test that is left out would look like one that passed.
pub fn alone() -> Option<MutexGuard<'static, ()>> {
    match sojourn_trace::session::check_host() {
        Ok(()) => Some(ONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(fault) => {
            if let Err(why) = may_skip(rustix::process::geteuid().is_root(), is_allowed(), &fault) {
                panic!("{why}");
            }
            say("skipped", &fault.what);
            None
        }
    }
}

/// Whether processes have other numbers here than for the kernel.
///
/// # Panics
/// It is not known.
pub fn is_in_container() -> bool {
    sojourn_trace::attach::pidns::of(std::path::Path::new("/proc")).expect("asked as root") != 0
}

fn is_allowed() -> bool {
    std::env::var_os(ALLOW_SKIP).is_some_and(|word| !word.is_empty())
}

/// Whether a test that cannot run here may be left out.
///
/// # Errors
/// Why not, and how to allow it.
pub fn may_skip(is_root: bool, is_allowed: bool, fault: &Fault) -> Result<(), String> {
    if !is_root || is_allowed {
        return Ok(());
    }
    Err(format!(
        "root cannot trace here, and no test may be left out: {fault}\n  or: {ALLOW_SKIP}=1"
    ))
}

/// Says what became of this test, past the test runner and in one piece; `scripts/counted` adds up.
pub fn say(word: &str, why: &str) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().write_all(format!("{word}: {name}: {why}\n").as_bytes());
}

/// Sets it when it goes, also by a failed assertion: whoever waits for it would wait in vain.
pub struct Sets<'a>(pub &'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a client waits for: that the trace has begun, or has failed before.
#[derive(Default)]
pub struct Started {
    pub begun: AtomicBool,
    pub over: AtomicBool,
}

impl Started {
    /// Waits; whether the trace has begun.
    pub fn in_time(&self) -> bool {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        while !is(&self.begun) && !is(&self.over) {
            thread::sleep(Duration::from_millis(5));
        }
        is(&self.begun)
    }
}

/// Traces every request of the process `pid` while `client` runs.
pub fn trace(pid: u32, client: impl FnOnce() + Send) -> (Outcome, Vec<Record>) {
    trace_how(How::All, pid, client)
}

/// The same of the requests that one way to trace chooses.
pub fn trace_how(how: How, pid: u32, client: impl FnOnce() + Send) -> (Outcome, Vec<Record>) {
    trace_with(Options { how, ..Options::default() }, pid, client)
}

/// The same, with `how` and `all_stages` of these options.
pub fn trace_with(
    Options { how, all_stages, .. }: Options,
    pid: u32,
    client: impl FnOnce() + Send,
) -> (Outcome, Vec<Record>) {
    let target = target::find(Path::new("/proc"), pid, &[]).unwrap();
    let options = Options {
        duration_ns: 60_000_000_000,
        how,
        ring_bytes: 16 << 20,
        is_full: true,
        worst: 3,
        hook_cost: false,
        blame: None,
        all_stages,
        is_live: false,
    };
    let (stop, mut records) = (AtomicBool::new(false), Vec::new());
    let started = Started::default();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let _ends = Sets(&stop);
            if started.in_time() {
                client();
                thread::sleep(Duration::from_millis(50));
            }
        });
        let _over = Sets(&started.over);
        let mut begun = || started.begun.store(true, Ordering::Relaxed);
        session::run(&target, options, &stop, &mut begun, &mut |r| records.push(r.clone()))
    });
    let outcome = outcome.unwrap();
    for record in &records {
        assert_eq!(record.stage_ns.iter().sum::<u64>(), record.total_ns, "stages add: {record:?}");
    }
    assert_eq!(outcome.counts.matched(), records.len() as u64, "both ways count the same");
    assert_eq!(outcome.counts.reason("sum_mismatch"), 0);
    (outcome, records)
}

pub fn index(stage: &str) -> usize {
    STAGES.iter().position(|s| s.name == stage).unwrap()
}

pub fn median(mut values: Vec<u64>) -> u64 {
    assert!(!values.is_empty());
    values.sort_unstable();
    values[values.len() / 2]
}

/// In the median of `paused`, `stage` holds the pause, and all the rest holds none of it. Where the
/// machine stops for as long as a pause, others are taken for paused ones.
pub fn pause_in(stage: &str, paused: &[&Record]) -> Judged {
    let inside = median(paused.iter().map(|r| r.stage_ns[index(stage)]).collect());
    let rest = median(paused.iter().map(|r| r.total_ns - r.stage_ns[index(stage)]).collect());
    judge((PAUSE_NS * 95 / 100..PAUSE_NS * 2).contains(&inside), || {
        format!("{stage}: {inside} ns")
    })?;
    judge(rest < PAUSE_NS / 2, || format!("{stage}: {rest} ns elsewhere"))
}

/// Requests that took a pause somewhere, and the others.
pub fn split(records: &[Record]) -> (Vec<&Record>, Vec<&Record>) {
    records.iter().partition(|record| record.total_ns >= PAUSE_NS * 95 / 100)
}
