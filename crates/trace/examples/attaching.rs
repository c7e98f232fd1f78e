//! What it takes to attach and detach each hook, alone, and what another CPU notices of it.
//!
//! `attaching PID [ROUNDS]` runs on CPU 0 for a server with that pid, which need not do anything; a thread on
//! CPU 1 reads the clock all the time. Printed for each hook, in µs: CPU time and time of attaching and of
//! detaching (medians, and the most of CPU time), and the time that CPU 1 lost meanwhile.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for benchmarks: what fails, ends it

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use sojourn_base::clock::{Clock as _, Monotonic, thread_cpu_ns};
use sojourn_base::cpus;
use sojourn_trace::attach::how::How;
use sojourn_trace::attach::target;
use sojourn_trace::session::{self, Options};

/// A shorter gap between two readings of the clock is a reading.
const GAP_NS: u64 = 1000;
/// Between two steps, so that one leaves nothing to the next.
const REST: Duration = Duration::from_millis(5);
const PARTS: [&str; 3] = ["CPU", "time", "CPU 1"];

/// CPU time, time, and what the other CPU lost, ns.
type Took = [u64; 3];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = words.get(1).map_or(20, |word| word.parse().unwrap());
    let target = target::find(Path::new("/proc"), words[0].parse().unwrap(), &[]).unwrap();
    let options = Options { how: How::All, ring_bytes: 1 << 20, ..Options::default() };
    let (lost, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut steps: Vec<(String, bool, Vec<Took>)> = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| watch(&lost, &is_over));
        cpus::pin("0").unwrap();
        let mut around = |point: &str, comes: bool, step: &mut dyn FnMut()| {
            thread::sleep(REST);
            let read = || [thread_cpu_ns(), Monotonic.now_ns(), lost.load(Ordering::Relaxed)];
            let before = read();
            step();
            let after = read();
            let took: Took = std::array::from_fn(|k| after[k] - before[k]);
            match steps.iter_mut().find(|(name, is, _)| name == point && *is == comes) {
                Some((_, _, all)) => all.push(took),
                None => steps.push((point.to_owned(), comes, vec![took])),
            }
        };
        for _ in 0..rounds {
            session::each_alone(&target, options, &mut around).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    print(&mut steps);
}

/// Counts the time in which this thread did not run.
fn watch(lost: &AtomicU64, is_over: &AtomicBool) {
    cpus::pin("1").unwrap();
    let mut last_ns = Monotonic.now_ns();
    while !is_over.load(Ordering::Relaxed) {
        let now_ns = Monotonic.now_ns();
        if now_ns - last_ns > GAP_NS {
            lost.fetch_add(now_ns - last_ns, Ordering::Relaxed);
        }
        last_ns = now_ns;
    }
}

fn print(steps: &mut [(String, bool, Vec<Took>)]) {
    println!("{:24} {:8} {:>8} {:>8} {:>8} {:>8}", "", "µs", PARTS[0], "most", PARTS[1], PARTS[2]);
    let mut sums = [[0.0; 3]; 2];
    for (point, comes, all) in steps {
        let mut of = |part: usize, q: f64| {
            all.sort_by_key(|took| took[part]);
            all[(q * (all.len() - 1) as f64) as usize][part] as f64 / 1e3
        };
        let [cpu, time, other] = std::array::from_fn(|part| of(part, 0.5));
        let most = of(0, 1.0);
        let word = if *comes { "attach" } else { "detach" };
        println!("{point:24} {word:8} {cpu:8.0} {most:8.0} {time:8.0} {other:8.0}");
        [cpu, time, other]
            .iter()
            .enumerate()
            .for_each(|(k, us)| sums[usize::from(*comes)][k] += us);
    }
    for (comes, [cpu, time, other]) in [("detach", sums[0]), ("attach", sums[1])] {
        println!("{:24} {comes:8} {cpu:8.0} {:>8} {time:8.0} {other:8.0}", "all", "");
    }
}
