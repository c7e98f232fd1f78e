//! From plans and marks to a result: every number of a run is computed here, after the run.

use std::collections::BTreeMap;

use sojourn_base::Fault;
use sojourn_base::span::Times;

use crate::cpu_time::Shares;
use crate::job::Job;
use crate::marks::{Outage, Outcome, ThreadRun};
use crate::outage::{self, Windows};
use crate::result::{Cost, RunResult, SCHEMA, ThreadShare};
use crate::schedule::Timetable;
use crate::selfcheck;

/// Everything that a run brings home.
#[derive(Debug)]
pub struct Run {
    /// The job, resolved.
    pub job: Job,
    /// Start of the measured part, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// One entry per thread.
    pub threads: Vec<ThreadRun>,
    /// What the sentinels saw.
    pub sentinels: Vec<outage::Watch>,
    /// What the client's CPUs did.
    pub client_cpus: Option<Shares>,
    /// What the server's CPUs did; `None` where they are unknown.
    pub server_cpus: Option<Shares>,
    /// Whether `ThreadRun::syscalls` was counted.
    pub are_syscalls_counted: bool,
}

/// One request as it is judged; times in ns after the start of the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its place in the plan of its thread.
    pub index: usize,
    /// When it was due.
    pub intended_ns: u64,
    /// Since when a connection had been free when it was sent.
    pub free_ns: u64,
    /// When it was sent; 0: never.
    pub sent_ns: u64,
    /// When the first byte of its reply was there.
    pub first_byte_ns: u64,
    /// When its reply was complete.
    pub done_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Body bytes of its reply.
    pub reply_bytes: u32,
}

impl Request {
    /// The part of the send lag that is the instrument's own; `None` if it was never sent.
    pub fn pick_up_ns(&self) -> Option<u64> {
        (self.sent_ns > 0).then(|| self.sent_ns.saturating_sub(self.intended_ns.max(self.free_ns)))
    }

    /// Whether no connection was free when it was due.
    pub fn waited(&self) -> bool {
        self.free_ns > self.intended_ns
    }
}

impl Run {
    /// Start and end of the measured part as it was, ns after the start of the warm-up.
    pub fn measured(&self, timetable: &Timetable) -> (u64, u64) {
        let planned = timetable.warmup_ns + timetable.measured_ns;
        let stopped = self.threads.iter().filter_map(|thread| thread.stopped_ns).min();
        let end = stopped.map_or(planned, |ns| ns.min(planned));
        (timetable.warmup_ns, end.max(timetable.warmup_ns))
    }

    /// Requests of thread `index` that were due in the measured part.
    pub fn measured_requests(
        &self,
        index: usize,
        (from_ns, to_ns): (u64, u64),
    ) -> impl Iterator<Item = Request> + '_ {
        self.requests(index).filter(move |r| (from_ns..to_ns).contains(&r.intended_ns))
    }

    /// Requests of thread `index`, warm-up included. In a closed loop they are due when sent.
    pub fn requests(&self, index: usize) -> impl Iterator<Item = Request> + '_ {
        let ThreadRun { plan, marks, .. } = &self.threads[index];
        let is_closed = self.job.find_max;
        (0..marks.sent_ns.len()).filter(move |&i| !is_closed || marks.sent_ns[i] > 0).map(
            move |i| Request {
                index: i,
                intended_ns: if is_closed { marks.sent_ns[i] } else { plan.intended_ns[i] },
                free_ns: if is_closed { marks.sent_ns[i] } else { marks.free_ns[i] },
                sent_ns: marks.sent_ns[i],
                first_byte_ns: marks.first_byte_ns[i],
                done_ns: marks.done_ns[i],
                outcome: marks.outcome[i],
                reply_bytes: marks.reply_bytes[i],
            },
        )
    }
}

/// The spans and counts of a set of requests.
#[derive(Debug, Default)]
pub struct Tally {
    /// Requests due in the measured part.
    pub requests: u64,
    /// Of these, those outside outages and recoveries.
    pub kept: u64,
    /// Requests that did not end as a hit, by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Requests sent within ε of their intended time.
    pub timely: u64,
    /// Kept requests sent within ε of the moment they were due and a connection was free.
    pub kept_timely: u64,
    /// Requests that waited for a free connection.
    pub waited: u64,
    /// Body bytes received.
    pub reply_bytes: u64,
    /// done − intended, outages excluded.
    pub sojourn: Times,
    /// done − intended, all.
    pub sojourn_all: Times,
    /// done − sent.
    pub wire: Times,
    /// first byte − sent.
    pub first_byte: Times,
    /// sent − intended.
    pub send_lag: Times,
    /// The instrument's part of it.
    pub pick_up: Times,
    /// Sojourn times as an instrument without lag would have found them: done − intended − pick-up.
    pub punctual: Times,
}

impl Tally {
    fn add(&mut self, request: &Request, is_kept: bool, timely_within_ns: u64) {
        let Request { intended_ns, sent_ns, done_ns, .. } = *request;
        self.requests += 1;
        self.reply_bytes += u64::from(request.reply_bytes);
        self.waited += u64::from(request.waited());
        let is_sent = sent_ns > 0;
        let send_lag_ns = sent_ns.saturating_sub(intended_ns);
        self.timely += u64::from(is_sent && send_lag_ns <= timely_within_ns);
        if let Some(kind) = error_kind(request) {
            *self.errors.entry(kind).or_default() += 1;
        }
        let is_hit = request.outcome == Outcome::Hit;
        let from = |start_ns: u64, end_ns: u64| is_hit.then(|| end_ns.saturating_sub(start_ns));
        put(&mut self.sojourn_all, from(intended_ns, done_ns));
        if !is_kept {
            return;
        }
        self.kept += 1;
        let pick_up_ns = request.pick_up_ns();
        self.kept_timely += u64::from(pick_up_ns.is_some_and(|ns| ns <= timely_within_ns));
        put(&mut self.sojourn, from(intended_ns, done_ns));
        put(&mut self.wire, from(sent_ns, done_ns));
        put(&mut self.first_byte, from(sent_ns, request.first_byte_ns));
        put(&mut self.send_lag, is_sent.then_some(send_lag_ns));
        put(&mut self.pick_up, pick_up_ns);
        let punctual_ns =
            from(intended_ns, done_ns).zip(pick_up_ns).map(|(ns, lag)| ns - lag.min(ns));
        put(&mut self.punctual, punctual_ns);
    }

    /// Adds all of `other`: histograms are merged, no quantile is ever averaged (METHOD M14).
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.kept += other.kept;
        self.timely += other.timely;
        self.kept_timely += other.kept_timely;
        self.waited += other.waited;
        self.reply_bytes += other.reply_bytes;
        for (kind, count) in &other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.sojourn.merge(&other.sojourn);
        self.sojourn_all.merge(&other.sojourn_all);
        self.wire.merge(&other.wire);
        self.first_byte.merge(&other.first_byte);
        self.send_lag.merge(&other.send_lag);
        self.pick_up.merge(&other.pick_up);
        self.punctual.merge(&other.punctual);
    }

    /// Requests that ended as `kind`.
    pub fn errors_of(&self, kind: &str) -> u64 {
        self.errors.get(kind).copied().unwrap_or(0)
    }
}

fn put(times: &mut Times, ns: Option<u64>) {
    match ns {
        Some(ns) => times.add(ns),
        None => times.add_lost(),
    }
}

fn error_kind(request: &Request) -> Option<&'static str> {
    Some(match request.outcome {
        Outcome::Hit => return None,
        Outcome::Pending if request.sent_ns == 0 => "unsent",
        Outcome::Pending => "timeout",
        Outcome::Miss => "miss",
        Outcome::Status => "status",
        Outcome::Length => "length",
        Outcome::Content => "content",
        Outcome::Garbled => "garbled",
        Outcome::Closed => "closed",
    })
}

/// What the run found. The job must be resolved; see `resolve`.
pub fn summarise(run: &Run) -> Result<RunResult, Fault> {
    let timetable = Timetable::of(&run.job)?;
    let (from_ns, to_ns) = run.measured(&timetable);
    let log = outage::log(run)?;
    let windows = Windows::of(run, &log);
    let tallies = tally(run, &windows, (from_ns, to_ns))?;
    let mut all = Tally::default();
    for tally in &tallies {
        all.merge(tally);
    }

    let measured_s = (to_ns - from_ns) as f64 / 1e9;
    let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let outages = outage::report(&log, &all, (from_ns, to_ns));
    let evidence = selfcheck::Evidence::gather(run, &timetable, &windows, &all, outages)?;
    let judgement = selfcheck::judge(&evidence);
    Ok(RunResult {
        schema: SCHEMA.into(),
        program: format!("sojourn-load {}", env!("CARGO_PKG_VERSION")),
        job: run.job.clone(),
        started_unix_ns: run.started_unix_ns,
        measured_s,
        offered_rps: per_s(all.requests),
        achieved_rps: per_s(hits_within(run, from_ns, to_ns)),
        requests: all.requests,
        errors: all.errors.iter().map(|(kind, count)| ((*kind).to_string(), *count)).collect(),
        reply_bytes: all.reply_bytes,
        timely_ratio: share(all.timely, all.requests),
        verdict: judgement.verdict,
        reasons: judgement.reasons,
        lateness: judgement.lateness,
        notes: judgement.notes,
        sojourn_ns: all.sojourn.span(),
        sojourn_all_ns: all.sojourn_all.span(),
        wire_ns: all.wire.span(),
        first_byte_ns: all.first_byte.span(),
        send_lag_ns: all.send_lag.span(),
        pick_up_ns: all.pick_up.span(),
        probe_sojourn_ns: probe(run),
        threads: thread_shares(run, &tallies, &all, to_ns - from_ns),
        cost: cost(run, (from_ns, to_ns)),
        outages: evidence.outages,
        checks: evidence.checks,
    })
}

/// One tally per thread over the requests due in [from, to).
fn tally(run: &Run, windows: &Windows, measured: (u64, u64)) -> Result<Vec<Tally>, Fault> {
    let timely_within_ns = sojourn_base::units::parse_ns(&run.job.timely_within)
        .map_err(|fault| fault.within("timely_within"))?;
    let of_thread = |index: usize| {
        let mut tally = Tally::default();
        let mut is_out = windows.cursor();
        for request in run.measured_requests(index, measured) {
            let is_kept = !is_out.covers(request.intended_ns);
            tally.add(&request, is_kept, timely_within_ns);
        }
        tally
    };
    Ok((0..run.threads.len()).map(of_thread).collect())
}

fn hits_within(run: &Run, from_ns: u64, to_ns: u64) -> u64 {
    let is_counted =
        |r: &Request| r.outcome == Outcome::Hit && (from_ns..to_ns).contains(&r.done_ns);
    (0..run.threads.len()).map(|k| run.requests(k).filter(is_counted).count() as u64).sum()
}

fn probe(run: &Run) -> Option<sojourn_base::span::Span> {
    let mut all = Times::new();
    for thread in &run.threads {
        all.merge(&thread.probe_sojourn_ns);
    }
    (all.count() > 0).then(|| all.span())
}

fn thread_shares(run: &Run, tallies: &[Tally], all: &Tally, measured_ns: u64) -> Vec<ThreadShare> {
    let p99 = all.sojourn.quantile(0.99);
    let above = |tally: &Tally| p99.map_or(tally.sojourn.lost(), |ns| tally.sojourn.above(ns));
    let above_all: u64 = tallies.iter().map(above).sum();
    let share_of = |(thread, tally): (&ThreadRun, &Tally)| ThreadShare {
        requests: tally.kept,
        p50: tally.sojourn.quantile(0.5),
        p99: tally.sojourn.quantile(0.99),
        tail_factor: (above_all >= 100 && tally.kept > 0)
            .then(|| share(above(tally), above_all) / share(tally.kept, all.kept)),
        cpu_share: share(thread.cpu_ns, measured_ns),
    };
    run.threads.iter().zip(tallies).map(share_of).collect()
}

/// What the measured part cost, over the requests sent in it: CPU time and system calls are
/// counted from its start to its end.
fn cost(run: &Run, (from_ns, to_ns): (u64, u64)) -> Cost {
    let is_counted = |r: &Request| r.sent_ns > 0 && (from_ns..to_ns).contains(&r.sent_ns);
    let sent = |k: usize| run.requests(k).filter(is_counted).count() as u64;
    let requests: u64 = (0..run.threads.len()).map(sent).sum();
    let syscalls: u64 = run.threads.iter().map(|thread| thread.syscalls).sum();
    Cost {
        cpu_ns_per_request: share(run.threads.iter().map(|thread| thread.cpu_ns).sum(), requests),
        syscalls_per_request: run.are_syscalls_counted.then(|| share(syscalls, requests)),
        transport: run.job.transport.clone(),
        wait: run.job.wait.clone(),
    }
}

/// `part` over `whole`; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Ascending, non-overlapping union of `outages`.
pub(crate) fn union(mut outages: Vec<Outage>) -> Vec<Outage> {
    outages.sort_unstable_by_key(|outage| outage.start_ns);
    let mut merged: Vec<Outage> = Vec::with_capacity(outages.len());
    for outage in outages {
        match merged.last_mut() {
            Some(last) if outage.start_ns <= last.end_ns() => {
                last.length_ns = last.end_ns().max(outage.end_ns()) - last.start_ns;
            }
            _ => merged.push(outage),
        }
    }
    merged
}

#[cfg(test)]
pub(crate) mod fake {
    //! Runs without sockets: what the server does with each request is a function.

    use super::Run;
    use crate::cpu_time::Shares;
    use crate::job::Job;
    use crate::marks::{Marks, Outcome, ThreadRun};
    use crate::schedule;

    pub fn job() -> Job {
        Job {
            seed: 42,
            rate: "10k".into(),
            warmup: "100ms".into(),
            duration: "2s".into(),
            timely_within: "50us".into(),
            wait: "spin".into(),
            transport: "epoll".into(),
            ..Job::default()
        }
    }

    /// Every request is sent `lag_ns` after it was due, and answered by one server that takes
    /// `service_ns`, first come first served, on connections without limit.
    pub fn run(job: Job, lag_ns: u64, service_ns: u64) -> Run {
        let threads = (0..job.threads).map(|k| thread(&job, k, lag_ns, service_ns)).collect();
        Run {
            job,
            started_unix_ns: 1,
            threads,
            sentinels: vec![],
            client_cpus: Some(Shares { steal: 0.0, idle: 0.0 }),
            server_cpus: None,
            are_syscalls_counted: true,
        }
    }

    fn thread(job: &Job, index: u32, lag_ns: u64, service_ns: u64) -> ThreadRun {
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
        ThreadRun { plan, marks, cpu_ns: 1_000_000, syscalls: 7, ..ThreadRun::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Verdict;

    #[test]
    fn a_clean_run_holds_and_its_spans_add_up() {
        let result = summarise(&fake::run(fake::job(), 1_000, 30_000)).unwrap();
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        assert_eq!(result.requests, result.sojourn_ns.count);
        assert_eq!(result.timely_ratio, 1.0);
        let mean = |span: &sojourn_base::span::Span| span.mean.unwrap();
        let sum = mean(&result.wire_ns) + mean(&result.send_lag_ns);
        assert!((mean(&result.sojourn_ns) - sum).abs() < 1.0, "sojourn = send lag + wire");
        assert!((result.achieved_rps / result.offered_rps - 1.0).abs() < 0.001);
    }

    #[test]
    fn cost_is_over_the_requests_of_the_measured_part_alone() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        run.threads[0].cpu_ns = 1_000_000;
        assert!(run.threads[0].plan.measured_from > 0, "there is a warm-up");
        let result = summarise(&run).unwrap();
        let expected = 1e6 / result.requests as f64;
        assert!((result.cost.cpu_ns_per_request / expected - 1.0).abs() < 1e-3);
    }

    #[test]
    fn latency_counts_from_the_intended_time() {
        let result = summarise(&fake::run(fake::job(), 5_000_000, 1_000)).unwrap();
        assert!(result.sojourn_ns.p50.unwrap() >= 5_000_000, "sent 5 ms late");
        assert!(result.wire_ns.p50.unwrap() < 10_000);
        assert_eq!((result.verdict, result.timely_ratio), (Verdict::Unknown, 0.0));
        assert!(result.reasons.iter().any(|reason| reason.starts_with("timely")));
        assert!(result.reasons.iter().any(|reason| reason.starts_with("send lag")));
    }

    #[test]
    fn a_wait_for_a_connection_is_not_the_instruments_lag() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        let marks = &mut run.threads[0].marks;
        for i in (0..marks.sent_ns.len()).step_by(5) {
            marks.sent_ns[i] += 1_000_000; // waits 1 ms until a connection is free
            marks.done_ns[i] += 1_000_000;
            marks.first_byte_ns[i] += 1_000_000;
            marks.free_ns[i] = marks.sent_ns[i];
        }
        let result = summarise(&run).unwrap();
        assert!((result.timely_ratio - 0.8).abs() < 0.001);
        assert_eq!(result.checks.pick_up_timely_ratio, 1.0);
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        assert!(result.notes[0].contains("waited for a free connection"));
        assert!(result.checks.backlog_max >= 1);
    }

    #[test]
    fn failed_requests_are_infinite_and_named_by_kind() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        let marks = &mut run.threads[0].marks;
        let last = marks.outcome.len() - 1;
        for i in 0..300 {
            marks.outcome[last - i] = [Outcome::Closed, Outcome::Pending, Outcome::Pending][i % 3];
            if i % 3 == 2 {
                marks.sent_ns[last - i] = 0;
            }
        }
        let result = summarise(&run).unwrap();
        let expected = [("closed", 100), ("timeout", 100), ("unsent", 100)];
        let expected = expected.map(|(kind, count)| (kind.to_string(), count));
        assert_eq!(result.errors, BTreeMap::from(expected));
        assert_eq!(result.sojourn_ns.p99, None, "1.5 % of 20 000 are infinite");
        assert!(result.sojourn_ns.p95.is_some());
    }

    #[test]
    fn what_falls_into_an_outage_is_left_out_by_the_log_alone() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        let outage = Outage { start_ns: 1_000_000_000, length_ns: 10_000_000 };
        let thread = &mut run.threads[0];
        for (i, &due_ns) in thread.plan.intended_ns.iter().enumerate() {
            if (outage.start_ns..outage.end_ns()).contains(&due_ns) {
                thread.marks.sent_ns[i] = outage.end_ns();
                thread.marks.first_byte_ns[i] = outage.end_ns() + 1_000;
                thread.marks.done_ns[i] = outage.end_ns() + 1_000;
            }
        }
        let blamed = summarise(&run).unwrap();
        run.threads[0].outages.push(outage);
        let result = summarise(&run).unwrap();
        assert_eq!((result.outages.count, result.outages.longest_ns), (1, 10_000_000));
        assert!((result.outages.share_time - 0.005).abs() < 1e-9);
        assert!((result.outages.share_excluded - 0.005).abs() < 0.002, "10 ms of 2 s");
        assert!(result.sojourn_ns.p999.unwrap() < 100_000);
        assert!(result.sojourn_all_ns.p999.unwrap() > 5_000_000);
        assert_eq!(result.sojourn_all_ns, blamed.sojourn_all_ns, "nothing is dropped in silence");
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        assert_eq!(result.outages.log, vec![[900_000_000, 10_000_000]]);
    }

    #[test]
    fn long_outages_make_the_result_unknown() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        run.threads[0].outages.push(Outage { start_ns: 500_000_000, length_ns: 300_000_000 });
        let result = summarise(&run).unwrap();
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with("client stopped"), "{:?}", result.reasons);
    }

    #[test]
    fn the_target_decides_only_a_valid_run() {
        let qos = Job { qos_quantile: 0.99, qos_bound: "10us".into(), ..fake::job() };
        let result = summarise(&fake::run(qos.clone(), 100, 30_000)).unwrap();
        assert_eq!(result.verdict, Verdict::Violated);
        let result = summarise(&fake::run(qos, 5_000_000, 30_000)).unwrap();
        assert_eq!(result.verdict, Verdict::Unknown, "unknown beats violated");
    }

    #[test]
    fn threads_merge_by_histogram_and_a_biased_one_shows() {
        let job = Job { threads: 2, ..fake::job() };
        let mut run = fake::run(job, 0, 1_000);
        for (i, ns) in run.threads[1].marks.done_ns.iter_mut().enumerate().step_by(40) {
            *ns += 50_000_000 + i as u64 * 1_000;
        }
        let result = summarise(&run).unwrap();
        assert_eq!(result.threads.len(), 2);
        assert_eq!(result.threads.iter().map(|t| t.requests).sum::<u64>(), result.requests);
        assert!(result.sojourn_ns.p99.unwrap() > 40_000_000, "1.25 % are slow");
        assert!(result.threads[0].p99.unwrap() < 1_000_000);
        assert!((result.threads[1].tail_factor.unwrap() - 2.0).abs() < 0.1);
    }

    #[test]
    fn a_run_that_was_stopped_counts_what_was_due_until_then() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        let thread = &mut run.threads[0];
        let cut = thread.plan.intended_ns.partition_point(|&ns| ns < 1_100_000_000);
        thread.plan.truncate(cut);
        thread.marks.truncate(cut);
        thread.stopped_ns = Some(1_100_000_000);
        let result = summarise(&run).unwrap();
        assert!((result.measured_s - 1.0).abs() < 1e-9);
        assert!((result.offered_rps / 10_000.0 - 1.0).abs() < 0.05);
        assert!(result.notes[0].starts_with("stopped after 1 s of 2 s"), "{:?}", result.notes);
    }
}
