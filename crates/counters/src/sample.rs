//! One sample: every counter of the service and of the machine, group by group.
//!
//! members → the machine's CPUs → processes → threads → network → what else is asked for

use std::collections::HashSet;

use serde::Serialize;
use sojourn_base::clock::{Clock, Monotonic, unix_ns};

use crate::members::Members;
use crate::reader::{Entry, Reader};

/// Threads of a service that are read one by one; of more, none is.
pub const THREADS_MAX: usize = 256;
/// What is retained of `/proc/PID/task/TID/status`.
const LINES: [&str; 3] = ["Name:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];

/// All counters, with the time of each.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// When it began, ns of the monotonic clock.
    pub start_ns: u64,
    /// The same as time since boot, in which the starts of processes are given, ns.
    pub boot_ns: u64,
    /// When it was whole, ns since 1970.
    pub unix_ns: u64,
    /// The time that was meant to lie between this sample and the one before, ns.
    pub every_ns: u64,
    /// Files in the order of reading.
    pub files: Vec<Entry>,
}

/// Whoever takes samples of one service.
#[derive(Debug)]
pub struct Sampler {
    leader: u32,
    members: Members,
    also: Vec<String>,
    /// Threads of which the start is stored.
    known: HashSet<(u32, u32)>,
    reader: Reader,
}

impl Sampler {
    /// Of the session of `leader`, and of the files `also`.
    pub fn new(leader: u32, also: Vec<String>) -> Self {
        let members = Members::new(leader);
        Self { leader, members, also, known: HashSet::new(), reader: Reader::default() }
    }

    /// Reads everything now, `every_ns` after the sample before, as it was meant.
    pub fn take(&mut self, every_ns: u64) -> Sample {
        let (start_ns, boot_ns) = (Monotonic.now_ns(), boot_ns());
        self.reader.begin();
        let members = self.members.look(&mut self.reader);
        self.reader.keep_part("/proc/stat".into(), cpus_of);
        for member in &members {
            self.reader.keep(format!("/proc/{}/io", member.pid));
        }
        let threads = members.iter().flat_map(|one| one.tids.iter().map(|&tid| (one.pid, tid)));
        self.threads(&threads.collect::<Vec<_>>());
        self.reader.keep(format!("/proc/{}/net/dev", self.leader));
        for path in &self.also {
            self.reader.keep(path.clone());
        }
        Sample { start_ns, boot_ns, unix_ns: unix_ns(), every_ns, files: self.reader.end() }
    }

    fn threads(&mut self, threads: &[(u32, u32)]) {
        let reader = &mut self.reader;
        if threads.len() > THREADS_MAX {
            for (pid, tid) in threads {
                reader.put(format!("/proc/{pid}/task/{tid}"), String::new()); // it is there
            }
            return;
        }
        let mut known = HashSet::with_capacity(threads.len());
        for &(pid, tid) in threads {
            let base = format!("/proc/{pid}/task/{tid}");
            let is_whole = reader.keep(format!("{base}/schedstat"))
                && reader.keep_part(format!("{base}/status"), switches_of)
                && (self.known.contains(&(pid, tid)) || reader.keep_once(format!("{base}/stat")));
            if is_whole {
                known.insert((pid, tid));
            }
        }
        self.known = known;
    }
}

/// The lines of `/proc/stat` that report CPUs.
fn cpus_of(stat: &str) -> String {
    stat.split_inclusive('\n').take_while(|line| line.starts_with("cpu")).collect()
}

/// The lines of a thread's `status` that are asked for.
fn switches_of(status: &str) -> String {
    let wanted = |line: &&str| LINES.iter().any(|name| line.starts_with(name));
    status.split_inclusive('\n').filter(wanted).collect()
}

fn boot_ns() -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `at` is a valid place for one timespec; the clock exists since Linux 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut at) };
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_files_only_what_is_asked_for_is_kept() {
        assert_eq!(cpus_of("cpu  1 2\ncpu0 1 2\nintr 5 0\nctxt 7\n"), "cpu  1 2\ncpu0 1 2\n");
        let status = "Name:\ta b\nUmask:\t0022\nvoluntary_ctxt_switches:\t3\n\
                      nonvoluntary_ctxt_switches:\t4\n";
        assert_eq!(
            switches_of(status),
            "Name:\ta b\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n"
        );
    }

    #[test]
    fn a_sample_has_all_groups_in_order_and_a_threads_start_once() {
        let pid = std::process::id();
        let also = vec!["/proc/version".to_owned(), "/proc/no such file".to_owned()];
        let mut sampler = Sampler::new(pid, also);
        let (first, second) = (sampler.take(5), sampler.take(5));
        let at =
            |sample: &Sample, path: &str| sample.files.iter().position(|entry| entry.0 == path);
        let own = format!("/proc/{pid}/task/{pid}");
        let order = [
            format!("/proc/{pid}/stat"),
            "/proc/stat".into(),
            format!("/proc/{pid}/io"),
            format!("{own}/schedstat"),
            format!("{own}/status"),
            format!("/proc/{pid}/net/dev"),
            "/proc/version".into(),
        ];
        for sample in [&first, &second] {
            let places: Vec<usize> = order.iter().map(|path| at(sample, path).unwrap()).collect();
            assert!(places.is_sorted(), "{places:?}");
            assert!(sample.files.iter().is_sorted_by_key(|entry| entry.1));
            assert!(sample.start_ns <= sample.files[0].1);
        }
        assert!(at(&first, &format!("{own}/stat")).is_some());
        assert!(at(&second, &format!("{own}/stat")).is_none(), "it is known");
        assert!(first.boot_ns <= second.boot_ns && first.unix_ns > 0);
    }

    #[test]
    fn threads_that_are_too_many_are_listed_only() {
        let mut sampler = Sampler::new(1, Vec::new());
        let threads: Vec<(u32, u32)> = (0..=THREADS_MAX as u32).map(|tid| (7, tid)).collect();
        sampler.threads(&threads);
        let retained = sampler.reader.end();
        assert_eq!(retained.len(), threads.len());
        assert_eq!((retained[3].0.as_str(), retained[3].2.as_str()), ("/proc/7/task/3", ""));
    }
}
