//! What the service has done so far: its CPU time, and the TCP segments of its network namespace.
//!
//! Their ratio is the price of a request as seen from outside, with hooks attached and without; nothing
//! has to be attached to read it. Assumed: other traffic of the namespace is not much, or the same
//! inside windows and between them. If it is not, the ratios differ from window to window, and the
//! interval of the cost says so.

use std::fs;
use std::path::Path;

use sojourn_base::process;

/// Since some beginning; only differences are used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// CPU time of all its processes, ns.
    pub cpu_ns: f64,
    /// TCP segments received and sent.
    pub segments: f64,
}

impl Work {
    /// Of the processes `pids`, from `proc_root`; those that have ended count as 0.
    pub fn read(proc_root: &Path, pids: &[u32]) -> Self {
        let cpu_ns = pids.iter().map(|pid| cpu_ns((!pid << 3 | 2).cast_signed())).sum();
        let of = |pid: u32| process::folder(proc_root, pid).join("net/snmp");
        let table = |pid: &u32| fs::read_to_string(of(*pid)).ok();
        let segments = pids.iter().find_map(table).and_then(|text| segments(&text));
        Self { cpu_ns, segments: segments.unwrap_or(0.0) }
    }

    /// What was done since `before`; nothing, if a process ended in between.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            cpu_ns: (self.cpu_ns - before.cpu_ns).max(0.0),
            segments: (self.segments - before.segments).max(0.0),
        }
    }
}

/// CPU time of this process, ns.
pub fn own_cpu_ns() -> f64 {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// What a CPU clock says; another process's clock has its number in it: `clock_getcpuclockid(3)`.
fn cpu_ns(clock: libc::clockid_t) -> f64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a valid place for one timespec; a clock that does not exist is refused.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut ts) };
    if answer == 0 { ts.tv_sec as f64 * 1e9 + ts.tv_nsec as f64 } else { 0.0 }
}

/// `InSegs` and `OutSegs` of the two lines that begin with `Tcp:`: names, and numbers.
fn segments(text: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let pairs = names.split_whitespace().zip(numbers.split_whitespace());
    let wanted = pairs.filter(|(name, _)| matches!(*name, "InSegs" | "OutSegs"));
    Some(wanted.filter_map(|(_, number)| number.parse::<f64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernels_table_is_read() {
        let text = "Ip: A B\nIp: 1 2\nTcp: Rto InSegs OutSegs X\nTcp: 200 1000 500 7\n";
        assert_eq!(segments(text), Some(1500.0));
        assert_eq!(segments("Tcp: InSegs\n"), None);
    }

    #[test]
    fn segments_of_a_process_are_seen_after_its_first_thread_has_ended() {
        let root = std::env::temp_dir().join(format!("sojourn-work-{}", std::process::id()));
        let pid = u32::MAX >> 4;
        let thread = root.join(format!("{pid}/task/11"));
        fs::create_dir_all(thread.join("net")).unwrap();
        fs::write(root.join(format!("{pid}/stat")), "10 (server) Z 1").unwrap();
        fs::write(thread.join("stat"), "11 (worker) S 1").unwrap();
        fs::write(thread.join("net/snmp"), "Tcp: InSegs OutSegs\nTcp: 2 3\n").unwrap();
        let work = Work::read(&root, &[pid]);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(work.segments, 5.0);
    }

    #[test]
    fn work_and_segments_of_this_process_are_seen() {
        let read = || Work::read(Path::new("/proc"), &[std::process::id()]);
        let before = read();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut byte = [0];
        for _ in 0..50 {
            client.write_all(&[1]).unwrap();
            server.read_exact(&mut byte).unwrap();
        }
        let done = read().since(before);
        assert!(done.cpu_ns > 0.0 && done.segments >= 50.0, "{done:?}");
        assert_eq!(Work::read(Path::new("/proc"), &[u32::MAX >> 4]), Work::default());
    }
}
