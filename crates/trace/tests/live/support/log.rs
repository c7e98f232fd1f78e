//! What clients know of their requests: each has a reply of a size of its own, so that a record says
//! which request it is, and a time, so that it says whether the record can be true.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use sojourn_base::clock::{Clock as _, Monotonic};
use sojourn_trace::reconstruct::record::Record;

use super::echo::Ask;
use super::index;

/// Two readings of the clock on different CPUs agree to this.
const CLOCKS_NS: u64 = 1000;
/// From `send` to the packet's stamp, where the machine lets the client go on.
const SENT_NS: u64 = 2_000_000;
/// Where the time of a request's own sleep may be: asleep; or about to sleep, or awake again, with a CPU or without.
const AROUND: [&str; 5] = ["wait_sleep", "runq_delay", "stopped", "application", "reply_wait"];

/// One request, as its client saw it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub before_ns: u64,
    pub sent_ns: u64,
    pub done_ns: u64,
    pub app_us: u32,
}

/// All requests of a test, by the size of the reply.
#[derive(Default)]
pub struct Log {
    next: AtomicU32,
    calls: Mutex<BTreeMap<u32, Call>>,
}

impl Log {
    /// Sends a request that takes `app_us`; its reply's size, to receive it with.
    pub fn send(&self, stream: &mut TcpStream, app_us: u32) -> Ask {
        let size = 10 + self.next.fetch_add(1, Ordering::Relaxed);
        let ask = Ask { app_us, reply_bytes: size, ..Ask::default() };
        let before_ns = Monotonic.now_ns();
        stream.write_all(&ask.bytes()).unwrap();
        let call = Call { before_ns, sent_ns: Monotonic.now_ns(), done_ns: u64::MAX, app_us };
        self.calls.lock().unwrap().insert(size, call);
        ask
    }

    pub fn receive(&self, stream: &mut TcpStream, ask: Ask) {
        ask.receive(stream);
        let now_ns = Monotonic.now_ns();
        self.calls.lock().unwrap().get_mut(&ask.reply_bytes).unwrap().done_ns = now_ns;
    }

    pub fn call(&self, stream: &mut TcpStream, app_us: u32) {
        let ask = self.send(stream, app_us);
        self.receive(stream, ask);
    }

    pub fn len(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// Every record is one request from its arrival to its reply, with its time where it was spent.
    /// Answers how many arrived later than they were sent, as on a machine that stops the client.
    ///
    /// A thread with a running timer may have to wait, for its CPU or for the hypervisor, before it is asleep. So
    /// its sleep may be shorter than it was asked to be; not that of more than a tenth of the requests.
    ///
    /// # Panics
    /// If a record cannot be true on any machine.
    pub fn check(&self, records: &[Record]) -> usize {
        let calls = self.calls.lock().unwrap();
        let mut seen = BTreeSet::new();
        let (mut late, mut paused, mut short) = (0, 0, 0);
        for record in records {
            let call =
                calls.get(&record.bytes_out).unwrap_or_else(|| panic!("no request: {record:?}"));
            let reported = || format!("{record:?}\n{call:?}");
            assert_eq!(record.bytes_in, 32, "{}", reported());
            assert!(seen.insert(record.bytes_out), "twice: {}", reported());
            let end_ns = record.start_ns + record.total_ns;
            assert!(record.start_ns + CLOCKS_NS >= call.before_ns, "began before: {}", reported());
            assert!(
                end_ns <= call.done_ns.saturating_add(CLOCKS_NS),
                "ended after: {}",
                reported()
            );
            let stage = |name: &str| record.stage_ns[index(name)];
            let app_ns = u64::from(call.app_us) * 1000;
            let around_ns: u64 = AROUND.into_iter().map(stage).sum();
            assert!(around_ns + CLOCKS_NS >= app_ns, "{}", reported());
            paused += usize::from(app_ns > 0);
            short += usize::from(stage("wait_sleep") < app_ns * 95 / 100);
            late += usize::from(record.start_ns > call.sent_ns + SENT_NS);
        }
        assert!(short <= 1 + paused / 10, "{short} of {paused} slept for less than they should");
        late
    }
}
