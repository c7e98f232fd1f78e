//! Runs without sockets: what the server does with each request is a function.

use super::Measurement;
use crate::job::Job;
use crate::plan::marks::{Marks, ThreadMeasurement};
use crate::plan::schedule;
use crate::protocols::Outcome;
use crate::watch::cpu_time::Shares;

pub fn job() -> Job {
    Job {
        target: "memcache://fake:1".into(),
        seed: 42,
        rate: "10k".into(),
        warmup: "100ms".into(),
        duration: "2s".into(),
        drain: "2s".into(),
        timely_within: "50us".into(),
        wait: "spin".into(),
        transport: "epoll".into(),
        ..Job::default()
    }
}

/// Every request is sent `lag_ns` after it was due, and answered by one server that takes
/// `service_ns`, first come first served, on connections without limit.
pub fn run(job: Job, lag_ns: u64, service_ns: u64) -> Measurement {
    let threads = (0..job.threads).map(|k| thread(&job, k, lag_ns, service_ns)).collect();
    Measurement {
        job,
        started_unix_ns: 1,
        start_ns: 2,
        threads,
        sentinels: vec![],
        client_cpus: Some(Shares { steal: 0.0, idle: 0.0, others: None }),
        server_cpus: None,
        server_seen: None,
        are_syscalls_counted: true,
        was_lost: false,
        addresses: vec![],
        looked: None,
        notices: None,
        statuses: std::collections::BTreeMap::new(),
        long: None,
    }
}

fn thread(job: &Job, index: u32, lag_ns: u64, service_ns: u64) -> ThreadMeasurement {
    let plan = schedule::draw(job, index).unwrap();
    let mut marks = Marks::for_requests(plan.intended_ns.len());
    let mut idle_ns = 0;
    for (i, &due_ns) in plan.intended_ns.iter().enumerate() {
        let sent_ns = due_ns + lag_ns;
        idle_ns = sent_ns.max(idle_ns) + service_ns;
        marks.sent_ns[i] = sent_ns;
        marks.first_byte_ns[i] = idle_ns;
        marks.done_ns[i] = idle_ns;
        marks.outcome[i] = Outcome::Hit;
        marks.reply_bytes[i] = 200;
    }
    ThreadMeasurement {
        plan,
        marks,
        cpu_ns: 1_000_000,
        syscalls: 7,
        ..ThreadMeasurement::default()
    }
}
