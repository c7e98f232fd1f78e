//! Verdicts and notes, from evidence that was set by hand.

use super::*;

fn judged(change: impl FnOnce(&mut Evidence)) -> Judgement {
    let mut evidence = gather(&fake::run(fake::job(), 0, 1_000));
    change(&mut evidence);
    judge(&evidence)
}

/// A p99 of 2,000 ns of which 101 are lag, which adds 200.
fn lagging(bound_ns: Option<u64>) -> impl FnOnce(&mut Evidence) {
    move |it: &mut Evidence| {
        (it.pick_up, it.sojourn, it.punctual) = (times(101), times(2000), times(1800));
        (it.job.qos_quantile, it.qos_bound_ns) = (0.99, bound_ns);
    }
}

#[test]
fn a_quantile_beyond_bound_and_lag_violates() {
    let verdict = |bound_ns| judged(lagging(Some(bound_ns))).verdict;
    assert_eq!((verdict(2000), verdict(1999)), (Verdict::Holds, Verdict::Unknown));
    assert_eq!((verdict(1899), verdict(1898)), (Verdict::Unknown, Verdict::Violated));
    let lost = judged(|it| {
        lagging(Some(1000))(it);
        (0..9).for_each(|_| it.sojourn.add_lost());
        it.errors = 9;
    });
    assert_eq!((lost.verdict, lost.lateness_ns), (Verdict::Violated, None), "{:?}", lost.reasons);
    assert!(lost.reasons[0].contains("is infinite (failed requests), the bound is 1 µs"));
}

#[test]
fn lateness_is_reported_once() {
    assert_eq!(judged(|_| ()).notes, Vec::<String>::new());
    let lag = judged(lagging(None));
    assert_eq!((lag.verdict, lag.lateness.len(), lag.lateness_ns), (Verdict::Holds, 1, Some(101)));
    assert!(lag.notes.len() == 1 && lag.notes[0].starts_with("send lag"), "{:?}", lag.notes);
    let harmless = judged(lagging(Some(9000)));
    assert_eq!((harmless.lateness.len(), harmless.notes.len()), (0, 1));
    let stolen = judged(|it| {
        lagging(Some(2000))(it);
        it.checks.server_steal_share = Some(0.5);
    });
    assert_eq!(
        (stolen.verdict, stolen.lateness.len(), stolen.lateness_ns),
        (Verdict::Holds, 2, None)
    );
    let [note] = &stolen.notes[..] else { panic!("{:?}", stolen.notes) };
    assert!(note.starts_with("client or server were kept from running"), "{note}");
}

#[test]
fn a_server_is_busy_up_to_a_twentieth_of_idle_time() {
    let verdict_of = |idle, steal, others| {
        let judgement = judged(|it| {
            (it.job.qos_quantile, it.qos_bound_ns, it.sojourn) = (0.99, Some(1000), times(2000));
            (it.checks.pick_up_timely_ratio, it.pick_up) = (0.5, times(1500));
            (it.checks.server_idle_share, it.checks.server_steal_share) = (Some(idle), Some(steal));
            it.server_others = others;
        });
        judgement.verdict
    };
    let verdict = |idle, steal| verdict_of(idle, steal, Some(0.05));
    assert_eq!((verdict(0.05, 0.01), verdict(0.051, 0.01)), (Verdict::Violated, Verdict::Unknown));
    assert_eq!(verdict(0.05, 0.011), Verdict::Unknown, "the hypervisor took the rest");
    assert_eq!(verdict_of(0.0, 0.0, Some(0.051)), Verdict::Unknown, "others kept its CPUs busy");
    assert_eq!(verdict_of(0.0, 0.0, None), Verdict::Unknown, "who worked there is not known");
}

/// A closed loop is asked what has no intended times to do with, and nothing else.
#[test]
fn a_closed_loop_is_asked_less() {
    let late = |find_max| {
        judged(|it| {
            it.job.find_max = find_max;
            (it.checks.pick_up_timely_ratio, it.checks.sent_rate_error) = (0.0, 1.0);
        })
    };
    assert_eq!((late(true).verdict, late(false).verdict), (Verdict::Holds, Verdict::Unknown));
    let silent = judged(|it| {
        it.job.target = "echo://h".into();
        (it.talk.understood, it.checks.pick_up_timely_ratio, it.was_lost) = (0, 0.0, true);
    });
    let names: Vec<&str> = silent.reasons.iter().filter_map(|why| why.split(':').next()).collect();
    assert_eq!(names, ["server lost", "protocol"], "the rest follows from these");
}

#[test]
fn notes_are_what_happened_and_nothing_else() {
    let only = |change: &dyn Fn(&mut Evidence)| {
        let notes = judged(change).notes;
        assert!(notes.len() < 2, "{notes:?}");
        notes.into_iter().next().unwrap_or_default()
    };
    let stopped = only(&|it| it.measured_ns = (2_000_000_000, 1_000_000_000));
    assert_eq!(stopped, "stopped after 1 s of 2 s");
    let waited = |share, understood| {
        only(&|it| (it.checks.waited_share, it.talk.understood) = (share, understood))
    };
    assert_eq!((waited(0.01, 1), waited(0.5, 0)), (String::new(), String::new()));
    assert!(
        waited(0.011, 1).starts_with("1.1 % of requests waited for a free connection (16 conn")
    );
    assert!(
        only(&|it| (it.errors, it.requests) = (1, 500)).starts_with("1 of 500 requests failed")
    );
    let broke = only(&|it| (it.checks.broken_connections, it.broken) = (2, (3, 4)));
    assert!(broke.starts_with("connections broke 2 times"), "{broke}");
    assert!(broke.ends_with("3 replies were garbled and 4 requests lost with them"), "{broke}");
    let newest = only(&|it| it.talk.newest_first_ns = Some(1_500_000_000));
    assert!(newest.starts_with("the server ends idle connections: from 1.50 s after"), "{newest}");
    let drained = only(&|it| (it.talk.unrelieved, it.job.connections) = ((3, 1024), 500));
    assert!(drained.starts_with("3 times (warm-up included) the server sent GOAWAY"), "{drained}");
    assert!(drained.contains("because 1024 files may be open: with 1102 (ulimit -n 1102)"));
    let abandoned = |replaced| {
        only(&|it| {
            (it.checks.timed_out, it.checks.replaced_connections) = (5, replaced);
            it.job.timeout = "1s".into();
        })
    };
    assert!(
        abandoned(0).contains("no reply came within 1 s (timeout); warm-up"),
        "{}",
        abandoned(0)
    );
    assert!(abandoned(2).contains("(timeout), and 2 connections replaced for it;"));
    assert!(only(&|it| it.out_of_ports = 6).starts_with("6 times no local port was left"));
    assert_eq!(only(&|it| (it.out_of_ports, it.was_lost) = (6, true)), "", "a reason already");
    let idle = |find_max, share| {
        only(&|it| (it.job.find_max, it.checks.server_idle_share) = (find_max, Some(share)))
    };
    assert!(idle(true, 0.11).starts_with("the server's CPUs were idle for 11 % of the time"));
    assert_eq!((idle(true, 0.1), idle(false, 0.9)), (String::new(), String::new()));
}

/// Every check with advice on how the client waits and where it runs.
#[test]
fn no_advice_is_what_the_client_does_already() {
    let late = |it: &mut Evidence| {
        lagging(None)(it);
        it.checks.pick_up_timely_ratio = 0.5;
        (it.checks.arrival_fit_a2, it.fit_again.1) = (Some(9.0), Some(9.0));
        (it.checks.dispersion, it.checks.dispersion_within) = (Some(9.0), Some(0.1));
        it.outages.share_excluded = 1.0;
    };
    for (wait, cpus, step) in [
        ("sleep", "", "let the client spin"),
        ("yield", "3", "let the client spin"),
        ("spin", "", "pin the client to a CPU"),
        ("spin", "3", "keep other programs off"),
    ] {
        for name in ["timely", "send lag", "arrival fit", "dispersion", "client stopped"] {
            let text = says(name, |it| {
                late(it);
                (it.job.wait, it.job.cpus) = (wait.into(), cpus.into());
            });
            let text = text.unwrap();
            assert!(text.contains(step) && text.contains("lower the rate"), "{name}: {text}");
        }
    }
}
