//! Who wants a CPU: for tests that compare schedulers, `beside ROLE CPUS GO LENGTH_S`.
//!
//! Once the file GO is there it plays its role for the length, then says in one line how it fared.
//!
//!     wake    wakes every 10 ms and works for 1 ms of CPU time: lateness at p50, p90 and p99, µs
//!     wave    works for 6 ms of CPU time of every 48 ms (L18): share of a CPU that it got
//!     spin    works: share of a CPU that it got

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sojourn_base::cpus;

const LOOK: Duration = Duration::from_millis(5);
const WAKE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(1));
const WAVE: (Duration, Duration) = (Duration::from_millis(48), Duration::from_millis(6));

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [role, cpus, go, length_s] = words.as_slice() else { return ExitCode::from(2) };
    let Ok(length) = length_s.parse().map(Duration::from_secs_f64) else {
        return ExitCode::from(2);
    };
    if cpus::pin(cpus).is_err() {
        return ExitCode::from(4);
    }
    while !Path::new(go).exists() {
        std::thread::sleep(LOOK);
    }
    let begin = Instant::now();
    let (end, before) = (begin + length, cpu_time());
    let reported = match role.as_str() {
        "wake" => told(beats(begin, end, WAKE)),
        "wave" => share(before, length, || drop(beats(begin, end, WAVE))),
        "spin" => share(before, length, || while Instant::now() < end {}),
        _ => return ExitCode::from(2),
    };
    let _ = writeln!(std::io::stdout(), "{role} {reported}");
    ExitCode::SUCCESS
}

/// Wakes once a period and works a while; how late it woke each time.
fn beats(begin: Instant, end: Instant, (period, work): (Duration, Duration)) -> Vec<Duration> {
    let (mut late, mut due) = (Vec::new(), begin);
    while due < end {
        let now = Instant::now();
        if now < due {
            std::thread::sleep(due - now);
            late.push(due.elapsed());
        }
        let from = cpu_time();
        while cpu_time().saturating_sub(from) < work && Instant::now() < end {}
        due += period;
        // One that lags does not make up for what it has missed.
        while due < Instant::now() {
            due += period;
        }
    }
    late
}

fn told(mut late: Vec<Duration>) -> String {
    late.sort_unstable();
    let at = |q: f64| late[((late.len() - 1) as f64 * q) as usize].as_micros();
    if late.is_empty() { "0 0 0".into() } else { format!("{} {} {}", at(0.5), at(0.9), at(0.99)) }
}

fn share(before: Duration, length: Duration, play: impl FnOnce()) -> String {
    play();
    format!("{:.3}", cpu_time().saturating_sub(before).as_secs_f64() / length.as_secs_f64())
}

/// CPU time of this process, of one thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one timespec; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
