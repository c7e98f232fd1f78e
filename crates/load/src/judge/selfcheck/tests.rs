//! Where each check's limit lies, and what the evidence is made of.

use sojourn_base::units::percents;

use super::*;
use crate::drive::measurement::fake;
use crate::judge::result::Verdict;
use crate::watch::server_watch::NO_PRIORITY;

mod judged;

fn gather(run: &Measurement) -> Evidence {
    let timetable = crate::plan::schedule::timetable(&run.job).unwrap();
    let measured = run.measured(&timetable);
    let mut all = Tally::default();
    for request in (0..run.threads.len()).flat_map(|k| run.measured_requests(k, measured)) {
        all.add_all(&request, 50_000);
        all.add_counted(&request, 50_000);
    }
    let stopped = (Outages::default(), None);
    Evidence::gather(run, &timetable, &Windows::default(), &all, stopped).unwrap()
}

fn clean() -> Evidence {
    gather(&fake::run(Job { duration: "200ms".into(), ..fake::job() }, 0, 1_000))
}

/// What check `name` says of a clean run with something changed.
fn says(name: &str, change: impl FnOnce(&mut Evidence)) -> Option<String> {
    let mut evidence = clean();
    change(&mut evidence);
    let check = CHECKS.iter().find(|check| check.name == name).unwrap();
    (check.failed)(&evidence)
}

fn times(ns: u64) -> Times {
    let mut times = Times::new();
    times.add(ns);
    times
}

#[test]
fn the_plan_may_be_off_by_one_percent_or_by_chance() {
    let planned = |asked, dispersion, error| {
        says("rate", |it| {
            (it.asked, it.dispersion_planned, it.checks.rate_error) = (asked, dispersion, error);
        })
    };
    for (asked, dispersion, limit) in
        [(1e4, 1.0, 0.033), (1e4, 4.0, 0.066), (1e6, 1.0, 0.01), (0.0, 1.0, 0.5), (9.0, 1e9, 0.5)]
    {
        assert_eq!(planned(asked, dispersion, limit * 0.999), None, "{asked} {limit}");
        assert_eq!(planned(asked, dispersion, -limit * 0.999), None, "{asked} {limit}");
        let reason = planned(asked, dispersion, -limit * 1.001).unwrap();
        let [off, most] = percents(limit * 1.001, limit, 2);
        let wanted = format!(
            "the plan is {off} % below the rate asked for, {most} % may be; measure longer"
        );
        assert_eq!(reason, wanted);
    }
    let sent =
        |error| says("rate", |it| (it.checks.rate_error, it.checks.sent_rate_error) = (0.0, error));
    assert_eq!((sent(0.01), sent(-0.01)), (None, None));
    assert!(sent(0.0101).unwrap().contains("1.01 % above the plan's") && sent(-0.0101).is_some());
}

#[test]
fn lateness_has_its_limits() {
    let timely = |retained, ratio| {
        says("timely", |it| (it.retained, it.checks.pick_up_timely_ratio) = (retained, ratio))
    };
    assert_eq!((timely(1, 0.975), timely(0, 0.0)), (None, None));
    assert!(timely(1, 0.9749).unwrap().starts_with("97.49 % of requests were sent within 50"));
    let gap = |wait: &str, within_ns, gap_ns| {
        says("poll gap", |it| {
            it.job.wait = wait.into();
            (it.timely_within_ns, it.checks.poll_gap_p99_ns) = (within_ns, Some(gap_ns));
            it.sojourn = times(2000);
        })
    };
    assert_eq!(
        (gap("spin", 60, 100), gap("spin", 150, 150), gap("sleep", 60, 999)),
        (None, None, None)
    );
    assert!(gap("spin", 60, 101).unwrap().contains("is 101 ns, 100 ns may be"));
    assert!(gap("spin", 150, 151).is_some());
    let busy = |wait: &str, share| {
        says("cpu", |it| (it.job.wait, it.checks.cpu_share_max) = (wait.into(), share))
    };
    assert_eq!((busy("sleep:1ms", 0.8), busy("spin", 1.0)), (None, None));
    assert!(busy("sleep", 0.81).unwrap().contains("81 % of a CPU, 80 % may be"));
    let stolen = |share| says("server stopped", |it| it.checks.server_steal_share = Some(share));
    assert_eq!(stolen(0.01), None);
    assert!(stolen(0.011).unwrap().contains("1.1 %"));
}

/// Of a p99 of 2,000 ns 100 may be lag; what it adds, and whether a bound cares, is asked after that.
#[test]
fn a_lag_is_too_much_where_it_is_long_and_adds_and_matters() {
    let lag = |ns, punctual, bound| {
        move |it: &mut Evidence| {
            (it.pick_up, it.sojourn, it.punctual) = (times(ns), times(2000), times(punctual));
            it.qos_bound_ns = bound;
        }
    };
    let reason = |ns, punctual, bound| says("send lag", lag(ns, punctual, bound));
    assert_eq!((reason(100, 1800, None), reason(101, 1901, None)), (None, None));
    assert!(reason(101, 1899, None).unwrap().contains("101 ns at p99, makes up 5.0 %"));
    assert!(
        reason(101, 1800, None).unwrap().contains("10.0 %")
            && reason(101, 1800, Some(2019)).is_some()
    );
    assert_eq!(reason(101, 1800, Some(2020)), None, "a twentieth of the bound");
    let mut evidence = clean();
    lag(101, 1800, Some(2020))(&mut evidence);
    assert_eq!(lag::bounded_ns(&evidence), Some(101));
    assert!(lag::note(&evidence).unwrap().starts_with("send lag: the client's own lag, 101 ns"));
    evidence.job.target = "null:".into();
    assert_eq!((lag::bounded_ns(&evidence), lag::note(&evidence)), (None, None));
}

#[test]
fn a_fit_is_rejected_by_both_samples_and_counts_by_their_own_limit() {
    let (just, beyond) = (Some(fit::LIMIT), Some(fit::LIMIT + 0.01));
    let fits = |first, again| {
        let plan = |it: &mut Evidence| (it.checks.planned_fit_a2, it.fit_again.0) = (first, again);
        let sent = |it: &mut Evidence| (it.checks.arrival_fit_a2, it.fit_again.1) = (first, again);
        assert_eq!((says("plan fit", sent), says("arrival fit", plan)), (None, None));
        let both =
            [says("plan fit", plan), says("arrival fit", sent)].map(|reason| reason.is_some());
        assert_eq!(both[0], both[1]);
        both[0]
    };
    assert!(fits(beyond, beyond));
    assert!(
        !fits(just, beyond) && !fits(beyond, just) && !fits(None, beyond) && !fits(beyond, None)
    );
    let index = |index| {
        says("dispersion", |it| {
            (it.checks.dispersion, it.checks.dispersion_within) = (Some(index), Some(0.25));
        })
    };
    assert_eq!((index(0.75), index(1.25)), (None, None));
    assert!(
        index(0.74).is_some() && index(1.26).unwrap().contains("1.260 times their mean, 1 ± 0.250")
    );
}

#[test]
fn an_instrument_that_was_stopped_says_for_how_long() {
    let stopped = |excluded, time, steal, find_max| {
        says("client stopped", |it| {
            it.job.find_max = find_max;
            it.outages = Outages { share_time: time, total_ns: 30_000_000, ..Outages::default() };
            (it.outages.count, it.outages.longest_ns) = (3, 20_000_000);
            (it.outages.share_excluded, it.checks.steal_share) = (excluded, Some(steal));
        })
    };
    assert_eq!((stopped(0.8, 0.3, 0.0, false), stopped(0.9, 0.5, 0.0, true)), (None, None));
    let open = stopped(0.81, 0.02, 0.001, false).unwrap();
    assert!(open.contains("for 30.0 ms in 3 outages, the longest 20.0 ms: 2.0 %"), "{open}");
    assert!(open.contains("81 % of the requests are excluded, 80 % may be;"), "{open}");
    assert!(stopped(0.81, 0.02, 0.002, false).unwrap().contains("(steal 0.2 %)"));
    assert!(stopped(0.0, 0.51, 0.0, true).unwrap().contains("51.0 % of the time, 50.0 % may be"));
    let reason = says("client stopped", |it| {
        (it.outages.share_time, it.job.outage_share_max) = (0.02, 0.01);
    });
    assert!(reason.unwrap().contains("2.00 % of the time, 1.00 % may be"), "as the job asks");
    let reason = says("outage log", |it| it.outages_unlisted = 1).unwrap();
    assert!(reason.starts_with("1 outages beyond"), "{reason}");
}

#[test]
fn stolen_time_is_judged_by_its_log_where_there_is_one() {
    let stopped = |disturbed, steal, lacks: &[&str]| {
        says("server stopped", |it| {
            it.checks.server_steal_share = Some(steal);
            it.server_stops = Some(ServerStops {
                share_disturbed: disturbed,
                threads: 1,
                lacks: lacks.iter().map(|&text| text.into()).collect(),
                ..ServerStops::default()
            });
        })
    };
    assert_eq!(stopped(0.5, 0.3, &[]), None, "as experienced and undisturbed stand side by side");
    assert!(stopped(0.51, 0.0, &[]).unwrap().contains("51 % of the requests were due then"));
    let reason = says("server stopped", |it| {
        it.job.disturbed_share_max = 1.0; // a neighbour is there on purpose
        it.server_stops =
            Some(ServerStops { share_disturbed: 1.0, threads: 1, ..ServerStops::default() });
    });
    assert_eq!(reason, None);
    let peak = |taken, disturbed_most| {
        says("server stopped", |it| {
            (it.job.find_max, it.job.disturbed_share_max) = (true, disturbed_most);
            it.server_stops =
                Some(ServerStops { share_taken: taken, threads: 1, ..ServerStops::default() });
        })
    };
    assert_eq!((peak(0.1, 0.5), peak(0.9, 1.0)), (None, None), "little, and on purpose");
    assert!(peak(0.36, 0.5).unwrap().contains("used 36 % of the time of the service's CPUs, 10 %"));
    let half = stopped(0.0, 0.011, &["run delay: none"]).unwrap();
    assert!(half.contains("took 1.1 %") && half.contains("says when (run delay: none); use a"));
    let unprivileged = stopped(0.0, 0.02, &[NO_PRIORITY]).unwrap();
    assert!(unprivileged.contains(&format!("says when ({NO_PRIORITY}); measure as root, use a")));
}

#[test]
fn replies_may_be_wrong_or_fail_in_one_of_a_hundred() {
    let of = |wrong, errors, bound, requests| {
        says("replies", |it| {
            (it.wrong_replies, it.errors) = (wrong, errors);
            (it.requests, it.qos_bound_ns) = (requests, bound);
        })
    };
    assert_eq!(
        (of(10, 10, None, 1000), of(0, 0, None, 0), of(0, 999, Some(1), 1000)),
        (None, None, None)
    );
    assert!(of(11, 11, Some(1), 1000).unwrap().starts_with("1.1 % of replies were misses"));
    assert!(of(0, 11, None, 1000).unwrap().starts_with("1.1 % of requests failed"));
    assert!(of(0, 1000, Some(1), 1000).unwrap().starts_with("no request succeeded"));
    let peak = |broke, errors| {
        says("replies", |it| {
            (it.job.find_max, it.requests, it.qos_bound_ns) = (true, 1000, Some(1));
            (it.checks.broken_connections, it.errors) = (broke, errors);
        })
    };
    assert_eq!(peak(10, 10), None);
    assert!(peak(11, 0).unwrap().starts_with("connections broke 11 times during 1000"));
    assert!(peak(0, 11).unwrap().starts_with("1.1 % of the closed loop's"));
}

#[test]
fn nothing_measured_no_one_there_and_nothing_understood_are_distinguished() {
    let retained = |requests, retained| {
        says("requests", |it| (it.requests, it.retained) = (requests, retained))
    };
    assert!(retained(0, 0).unwrap().starts_with("no request was due"));
    assert!(retained(5, 0).unwrap().starts_with("all 5 requests fell into outages"));
    assert_eq!(retained(5, 1), None);
    let lost = |was, ports| says("server lost", |it| (it.was_lost, it.out_of_ports) = (was, ports));
    assert_eq!((lost(false, 3), lost(true, 0)), (None, Some(LOST.into())));
    assert!(lost(true, 3).unwrap().contains("3 times no local port"));
    let talk = |target: &str, sent, understood| {
        says("protocol", |it| {
            it.job.target = target.into();
            (it.talk.sent, it.talk.understood) = (sent, understood);
        })
    };
    assert_eq!((talk("echo://h", 0, 0), talk("echo://h", 9, 1)), (None, None));
    assert!(
        talk("echo://h:1", 9, 0).unwrap().contains("not one of 9 requests got a reply in echo")
    );
    assert!(talk("memcache+udp://h", 9, 0).unwrap().contains("opens it with -U only"));
}

#[test]
fn a_plan_that_was_used_up_says_what_it_was() {
    let used = |threads, requests_max| {
        says("plan", |it| {
            it.used_up_ns = Some((1_500_000_000, 2_000_000_000));
            (it.job.threads, it.job.requests_max) = (threads, requests_max);
        })
    };
    let reason = used(2, 1_000_000).unwrap();
    assert!(
        reason.starts_with("all 500k requests of a thread's plan were sent after 1.50 s of 2 s")
    );
    assert!(reason.ends_with("raise requests_max, or shorten the run"), "{reason}");
    let reason = used(1, 2_000_000).unwrap();
    assert!(
        reason.starts_with("all 2M requests") && reason.contains("more than 1M/s ask for an open")
    );
    assert_eq!(says("plan", |_| ()), None);
}

/// Two threads of which everything differs: what is summed, what is the largest, what is the first.
#[test]
fn evidence_is_that_of_all_threads() {
    let mut run = fake::run(Job { threads: 2, ..fake::job() }, 0, 1_000);
    for (thread, times) in run.threads.iter_mut().zip([1, 10]) {
        (thread.broke, thread.timed_out, thread.reconnects) = (times, 2 * times, 3 * times);
        (thread.replaced, thread.out_of_ports) = (4 * times, 5 * times);
        (thread.outages_unlisted, thread.cpu_ns) = (6 * times, 10_000_000 * times);
        thread.used_up_ns = Some(100 / times);
        thread.poll_gaps = self::times(times);
        let from = thread.plan.measured_from;
        let ends = [Outcome::Miss, Outcome::Length, Outcome::Content, Outcome::Garbled];
        let ends = ends.into_iter().chain([Outcome::Closed, Outcome::Status, Outcome::Pending]);
        for (outcome, count) in ends.zip(1..) {
            let from = from + 10 * count;
            thread.marks.outcome[from..from + count].fill(outcome);
        }
        thread.marks.outcome[..2].copy_from_slice(&[Outcome::Garbled, Outcome::Closed]);
        (thread.marks.sent_ns[0], thread.marks.sent_ns[from + 70]) = (0, 0);
    }
    run.sentinels = [100, 1000]
        .map(|unlisted| crate::watch::outage::Watch { unlisted, ..Default::default() })
        .into();
    run.server_cpus = Some(crate::watch::cpu_time::Shares { steal: 0.25, idle: 0.5, others: None });
    let sent: usize = run.threads.iter().map(|thread| thread.plan.item.len()).sum();
    let result = gather(&run);
    let checks = &result.checks;
    assert_eq!((checks.broken_connections, checks.timed_out, checks.reconnects), (11, 22, 33));
    assert_eq!((checks.replaced_connections, result.out_of_ports), (44, 55));
    assert_eq!((result.outages_unlisted, checks.cpu_share_max), (1166, 0.05), "100 ms of 2 s");
    assert_eq!(result.used_up_ns, Some((10, 2_100_000_000)));
    assert_eq!((checks.poll_gap_p99_ns, checks.poll_gap_max_ns), (Some(10), Some(10)));
    assert_eq!((checks.server_idle_share, checks.server_steal_share), (Some(0.5), Some(0.25)));
    assert_eq!(
        (result.wrong_replies, result.errors),
        (2 * 10, 2 * 28),
        "miss, length, content, garbled"
    );
    assert_eq!(result.broken, (2 * (4 + 1), 2 * (5 + 1)), "warm-up included");
    let talk = (result.talk.sent as usize, result.talk.understood as usize);
    assert_eq!(
        talk,
        (sent - 4, sent - 2 * (4 + 5 + 7 + 2)),
        "all but what never was, or made no sense"
    );
    assert!((result.asked - 20_000.0).abs() < 1e-6);
    assert!((checks.rate_error - (result.requests as f64 / 20_000.0 - 1.0)).abs() < 1e-12);
    assert_eq!(result.measured_ns, (2_000_000_000, 2_000_000_000));
    run.job.find_max = true;
    assert_eq!(gather(&run).checks.rate_error, 0.0, "it has no rate");
}
