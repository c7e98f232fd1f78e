//! A planted task is named with its long runs, and only on the CPU that it runs on.
//!
//! Its runs are counted by itself: so many times it computed for 2 ms of CPU time. That its time and
//! some of its long runs are there holds on any machine; that no more are than it made, and that none
//! was cut to pieces, on a calm one only. Time that the hypervisor takes from a run belongs to the run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use sojourn_trace::who::watch::run;
use sojourn_trace::who::{LONG_NS, Seen, WhoTask};

use crate::support::calm::{Judged, calmly_beside, judge};
use crate::support::{self, Sets, alone};

const SPIN_NS: u64 = 2_000_000;
const PAUSE: Duration = Duration::from_millis(20);
const LOOK_NS: u64 = 1_500_000_000;
/// Of a task that is never switched: too short for anything else to come there, and for two samples.
const SHORT_LOOK_NS: u64 = 30_000_000;
/// Spins in it after which there has been a sample: they take 16 ms, and samples are 10.3 ms apart.
const SAMPLED: u64 = 8;
const ATTEMPTS: usize = 5;

/// CPUs this test may use.
fn usable() -> Vec<u32> {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect()
}

fn pin(cpu: u32) {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).unwrap();
}

/// Computes until this thread has had `SPIN_NS` of CPU time.
fn spin() {
    let end_ns = ns_of(ClockId::ThreadCPUTime) + SPIN_NS;
    while ns_of(ClockId::ThreadCPUTime) < end_ns {}
}

/// A child, which `fork` makes of this thread alone: whoever looks leaves out its own process.
struct Planted {
    pid: u32,
    ends: &'static Ends,
}

/// When it had computed in full and how long that took, for as many times as there is room; shared with the child.
#[repr(C)]
struct Ends {
    count: AtomicU64,
    unix_ns: [AtomicU64; 4095],
    took_ns: [AtomicU64; 4095],
}

impl Ends {
    fn note(&self, begun_ns: u64) {
        let place = self.count.load(Ordering::Relaxed) as usize % self.unix_ns.len();
        let end_ns = unix_ns();
        self.took_ns[place].store(end_ns - begun_ns, Ordering::Relaxed);
        self.unix_ns[place].store(end_ns, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many ended in this time, and how long they took together.
    fn within(&self, from_ns: u64, to_ns: u64) -> (u64, u64) {
        let every = self.unix_ns.iter().zip(&self.took_ns);
        let every = every.map(|(end, took)| (end.load(Ordering::Relaxed), took));
        let those = every.filter(|(end_ns, _)| (from_ns..=to_ns).contains(end_ns));
        those.fold((0, 0), |(n, ns), (_, took)| (n + 1, ns + took.load(Ordering::Relaxed)))
    }
}

fn unix_ns() -> u64 {
    ns_of(ClockId::Realtime)
}

fn ns_of(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Planted {
    fn on(cpu: u32, pause: Duration) -> Self {
        // SAFETY: fresh anonymous memory, shared with the child, never unmapped.
        let ends = unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                size_of::<Ends>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert!(page != libc::MAP_FAILED);
            &*page.cast::<Ends>()
        };
        // SAFETY: the child makes system calls only, allocates nothing, and never returns.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: the child ends with its parent.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            // SAFETY: the name is a string that ends.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"planted".as_ptr()) };
            pin(cpu);
            loop {
                let begun_ns = unix_ns();
                spin();
                ends.note(begun_ns);
                if !pause.is_zero() {
                    thread::sleep(pause);
                }
            }
        }
        let planted = Self { pid: u32::try_from(pid).unwrap(), ends };
        while ends.count.load(Ordering::Relaxed) < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        planted
    }

    fn in_this<'a>(&self, seen: &'a Seen) -> Option<&'a WhoTask> {
        seen.tasks.iter().find(|task| task.tid == self.pid)
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        // SAFETY: a child of ours that has not been waited for.
        unsafe {
            libc::kill(self.pid as i32, libc::SIGKILL);
            libc::waitpid(self.pid as i32, std::ptr::null_mut(), 0);
        }
    }
}

/// Looks, and counts how often the planted task computed in full meanwhile: by its own clock, because it goes
/// on while the hooks are taken off, and on a machine that stops the tester that takes as long as the look.
fn look(planted: &Planted, cpu: u32, left_out: &[u32], look_ns: u64) -> (Seen, u64) {
    let begun_ns = std::cell::Cell::new(0);
    let mut begun = || begun_ns.set(unix_ns());
    let seen = run(&[cpu], left_out, look_ns, &AtomicBool::new(false), &mut begun).unwrap();
    check_sums(&seen);
    // The look began a moment after `started_unix_ns`, so it ended no earlier than this.
    let least_end_ns = seen.started_unix_ns + seen.duration_ns;
    // The one that was going on when it began is not in full.
    let spins = planted.ends.within(begun_ns.get(), least_end_ns).0.saturating_sub(1);
    (seen, spins)
}

fn reported_ns(seen: &Seen) -> u64 {
    let tasks_ns: u64 = seen.tasks.iter().map(|task| task.run_ns).sum();
    tasks_ns + seen.idle_ns + seen.left_out_ns
}

/// What the kernel did not tell: now and then it does not report a switch.
fn unreported_ns(seen: &Seen) -> u64 {
    seen.duration_ns * seen.cpus.len() as u64 - reported_ns(seen)
}

/// No moment counts twice, and what counts as long is so.
fn check_sums(seen: &Seen) {
    let counted_ns = reported_ns(seen) + seen.unseen_ns + seen.dropped_ns;
    assert!(counted_ns <= seen.duration_ns * seen.cpus.len() as u64, "{seen:?}");
    for task in &seen.tasks {
        let has_number = task.tid != 0 || support::is_in_container();
        assert!(has_number && task.long_runs <= task.runs, "{task:?}");
        assert!(task.longest_ns <= task.run_ns && task.long_ns <= task.run_ns, "{task:?}");
        assert!(task.long_ns >= task.long_runs * LONG_NS, "{task:?}");
        assert_eq!(task.long_runs > 0, task.longest_ns > LONG_NS, "{task:?}");
    }
}

#[test]
fn a_planted_task_is_named_with_its_long_runs() {
    let Some(_alone) = alone() else { return };
    let cpu = *usable().last().unwrap();
    let planted = Planted::on(cpu, PAUSE);
    calmly_beside(Some(cpu as usize), || {
        let (seen, spins) = look(&planted, cpu, &[], LOOK_NS);
        // The last one may have begun in the look and end after it.
        thread::sleep(2 * PAUSE);
        let (ended, took_ns) = planted.ends.within(seen.started_unix_ns, unix_ns());
        let task = planted.in_this(&seen).expect("it ran there all the time");
        assert_eq!((task.name.as_str(), task.pid, task.is_kernel), ("planted", planted.pid, false));
        assert!(
            task.run_ns + unreported_ns(&seen) >= spins * SPIN_NS,
            "{spins} times 2 ms: {task:?}"
        );
        assert!(spins == 0 || task.long_runs > 0, "{spins} times 2 ms: {task:?}");
        let lost_there = 1.0 - (ended * SPIN_NS) as f64 / took_ns as f64;
        (judge_runs(&seen, task, spins, took_ns), lost_there)
    });
}

/// Whether the runs are those of so many spins, which took so long together.
fn judge_runs(seen: &Seen, task: &WhoTask, spins: u64, took_ns: u64) -> Judged {
    let wrong = || format!("{spins} spins, {took_ns} ns: {task:?}");
    // Others on the CPU cut a spin into several runs, so its time is bounded, and not their number.
    judge(task.long_runs >= spins * 9 / 10, wrong)?;
    judge(task.long_ns <= took_ns * 11 / 10, wrong)?;
    judge(task.runs >= spins, || format!("it slept {spins} times in between: {task:?}"))?;
    let unreported_ns = unreported_ns(seen);
    judge(unreported_ns < seen.duration_ns / 20, || format!("{unreported_ns} ns belong to no task"))
}

#[test]
fn another_cpu_does_not_show_it() {
    let Some(_alone) = alone() else { return };
    let cpus = usable();
    let [other, .., cpu] = cpus[..] else {
        return support::say("skipped", "one CPU only");
    };
    let planted = Planted::on(cpu, PAUSE);
    let (seen, spins) = look(&planted, other, &[], LOOK_NS);
    assert!(planted.in_this(&seen).is_none(), "{spins} spins on CPU {cpu}, seen on {other}");
}

#[test]
fn who_is_left_out_is_summed_and_not_named() {
    let Some(_alone) = alone() else { return };
    let cpu = *usable().last().unwrap();
    let planted = Planted::on(cpu, PAUSE);
    let (seen, spins) = look(&planted, cpu, &[planted.pid], LOOK_NS);
    assert!(planted.in_this(&seen).is_none());
    assert!(seen.left_out_ns + unreported_ns(&seen) >= spins * SPIN_NS, "{spins}: {seen:?}");
}

/// On a quiet CPU nothing takes its place in so short a time: only the samples tell who is there. A CPU that others
/// or the hypervisor take for most of it need not have had one.
#[test]
fn a_task_that_never_leaves_its_cpu_is_named() {
    let Some(_alone) = alone() else { return };
    let cpu = *usable().last().unwrap();
    let planted = Planted::on(cpu, Duration::ZERO);
    let mut spun = Vec::new();
    for _ in 0..ATTEMPTS {
        let (seen, spins) = look(&planted, cpu, &[], SHORT_LOOK_NS);
        let run_ns = planted.in_this(&seen).map_or(0, |task| task.run_ns);
        assert!(run_ns + unreported_ns(&seen) >= spins * SPIN_NS, "{spins} times 2 ms: {run_ns}");
        if spins >= SAMPLED {
            assert!(run_ns > 0, "not named: {seen:?}");
            return;
        }
        spun.push(spins);
    }
    support::say("unknown", &format!("it never had its CPU for long enough: {spun:?} spins"));
}

/// A signal ends the look before its time, with what was seen until then.
#[test]
fn it_ends_when_told_to() {
    let Some(_alone) = alone() else { return };
    let stop = AtomicBool::new(false);
    drop(Sets(&stop));
    let seen = run(&usable(), &[], 3_600_000_000_000, &stop, &mut || ()).unwrap();
    check_sums(&seen);
    assert!(seen.duration_ns < 3_600_000_000_000);
}
