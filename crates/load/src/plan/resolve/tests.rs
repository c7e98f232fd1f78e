use super::*;

fn job() -> Job {
    Job { target: "memcache://127.0.0.1:11211".into(), ..Job::default() }
}

fn fault(change: impl FnOnce(&mut Job)) -> Fault {
    let mut job = job();
    change(&mut job);
    resolve(job).expect_err("the job must be refused")
}

#[test]
fn a_plain_job_is_resolved_without_auto() {
    let resolved = resolve(job()).unwrap();
    assert_eq!(resolved.duration_ns, 10_000_000_000);
    assert_ne!(resolved.job.seed, 0);
    for text in [&resolved.job.transport, &resolved.job.wait, &resolved.job.timely_within] {
        assert_ne!(text, "auto");
    }
}

#[test]
fn replies_are_waited_for_as_long_as_the_job_lets_them_take() {
    let drain_ns = |drain: &str, timeout: &str| {
        let (drain, timeout) = (drain.into(), timeout.into());
        let resolved = resolve(Job { drain, timeout, ..job() }).unwrap();
        assert_eq!(resolved.job.drain, format!("{}ns", resolved.drain_ns));
        resolved.drain_ns / 1_000_000_000
    };
    assert_eq!(drain_ns("auto", "auto"), 2);
    assert_eq!(drain_ns("auto", "10s"), 10, "who waits so long for a reply has it");
    assert_eq!(drain_ns("auto", "100ms"), 2);
    assert_eq!(drain_ns("5s", "10s"), 5);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    assert_eq!(fault(|job| job.qos_quantile = 1.5).at, "qos_quantile");
    assert_eq!(fault(|job| job.qos_quantile = 0.99).at, "qos_quantile, qos_bound");
    assert_eq!(fault(|job| job.duration = "0".into()).at, "duration");
    assert_eq!(fault(|job| job.drain = "soon".into()).at, "drain");
    assert_eq!(fault(|job| job.set_share = -0.1).at, "set_share");
    assert_eq!(fault(|job| job.threads = 0).at, "threads");
    assert_eq!(fault(|job| job.connections = 0).at, "connections");
    assert_eq!(fault(|job| job.cpus = "0-".into()).at, "cpus");
    assert_eq!(fault(|job| job.cpus = "900".into()).at, "cpus");
    assert_eq!(fault(|job| job.server_cpus = "one".into()).at, "server_cpus");
    let absent = fault(|job| job.server_cpus = "0,1023".into());
    assert!(absent.at == "server_cpus" && absent.what.contains("no CPU 1023"), "{absent}");
    assert_eq!(fault(|job| job.duration = "1e20s".into()).at, "duration");
    // Nor can any other: their sums would begin at 0 again, and a warm-up of ages would end at once.
    assert_eq!(fault(|job| job.warmup = "1e20s".into()).at, "warmup");
    assert_eq!(fault(|job| job.drain = "1e20s".into()).at, "drain");
    assert_eq!(fault(|job| job.timeout = "1e20s".into()).at, "timeout");
    assert_eq!(fault(|job| job.outage_over = "1e20s".into()).at, "outage_over");
    assert_eq!(fault(|job| job.timely_within = "1e20s".into()).at, "timely_within");
    assert_eq!(fault(|job| job.wait = "sleep:1e20s".into()).at, "wait");
    let far = fault(|job| (job.qos_quantile, job.qos_bound) = (0.99, "1e20s".into()));
    assert_eq!(far.at, "qos_bound");
    assert_eq!(fault(|job| job.transport = "carrier-pigeon".into()).at, "transport");
    assert_eq!(fault(|job| job.wait = "doze".into()).at, "wait");
    assert_eq!(fault(|job| job.hlog = "-".into()).at, "hlog");
    let bound = fault(|job| (job.qos_quantile, job.qos_bound) = (0.99, "0s".into()));
    assert_eq!(bound.at, "qos_bound");
    assert_eq!(fault(|job| job.raw = "-".into()).at, "raw");
    assert_eq!(fault(|job| job.schema = "sojourn.load.job/9".into()).at, "schema");
    assert_eq!(fault(|job| job.probe_rate = f64::NAN).at, "probe_rate");
    assert_eq!(fault(|job| job.start_at = 1).at, "start_at");
    assert_eq!(fault(|job| job.start_at = u64::MAX).at, "start_at");
    let of = |target: &str, change: fn(&mut Job)| {
        let mut job = Job { target: target.into(), ..job() };
        change(&mut job);
        resolve(job).unwrap_err()
    };
    for (target, at) in [("http://h/", "set_share"), ("echo://h", "set_share")] {
        assert_eq!(of(target, |job| job.set_share = 0.1).at, at);
    }
    let scans = of("http://h", |job| job.multiget_share = 0.1);
    assert_eq!(
        (scans.at.as_str(), scans.what.as_str()),
        ("multiget_share", "http has no multiget")
    );
    assert_eq!(of("http://h/", |job| job.preload = true).at, "preload");
    let both = of("memcache://h", |job| (job.set_share, job.multiget_share) = (0.6, 0.5));
    assert_eq!(both.at, "set_share + multiget_share");
    let option = of("null:", |job| job.option = [("x".into(), "1".into())].into());
    assert_eq!((option.at.as_str(), option.fix.as_str()), ("option", "known: none"));
    assert_eq!(fault(|job| job.target = "gopher://127.0.0.1/".into()).at, "target");
}

#[test]
fn timely_is_fifty_microseconds_or_a_hundredth_of_the_bound() {
    let qos = |bound_ns| Some(Qos { q: 0.99, bound_ns });
    assert_eq!(timely_within_auto_ns(None), 50_000);
    assert_eq!(timely_within_auto_ns(qos(1_000_000)), 50_000);
    assert_eq!(timely_within_auto_ns(qos(100_000_000)), 1_000_000);
}

#[test]
fn epsilon_belongs_to_the_wait() {
    let within = |wait: &str| {
        let job = Job { wait: wait.into(), ..job() };
        resolve(job).unwrap().timely_within_ns
    };
    assert_eq!((within("spin"), within("sleep"), within("sleep:100us")), (50_000, 50_000, 150_000));
    let input = Job { wait: "sleep:1ms".into(), timely_within: "70us".into(), ..job() };
    assert_eq!(resolve(input).unwrap().timely_within_ns, 70_000, "what is asked for stays");
}

#[test]
fn a_time_out_is_ten_bounds_or_a_second_and_is_in_the_job() {
    let plain = resolve(job()).unwrap();
    assert_eq!((plain.timeout_ns, plain.job.timeout.as_str()), (1_000_000_000, "1000000000ns"));
    let bound = Job { qos_quantile: 0.99, qos_bound: "5ms".into(), ..job() };
    assert_eq!(resolve(bound.clone()).unwrap().timeout_ns, 50_000_000);
    let input = Job { timeout: "3s".into(), ..bound };
    assert_eq!(resolve(input).unwrap().timeout_ns, 3_000_000_000);
    assert_eq!(fault(|job| job.timeout = "0s".into()).at, "timeout");
}

#[test]
fn a_lost_datagram_leaves_room_on_its_connection() {
    let depth = |target: &str, depth| {
        resolve(Job { target: target.into(), depth, ..job() }).unwrap().job.depth
    };
    assert_eq!(depth("memcache://h", 0), 1);
    assert_eq!(depth("memcache+udp://h", 0), 16);
    assert_eq!((depth("memcache://h", 7), depth("memcache+udp://h", 7)), (7, 7));
}

#[test]
fn sources_are_addresses_in_numbers() {
    let sources = |text: &str| resolve(Job { source: text.into(), ..job() }).map(|it| it.sources);
    assert!(sources("").unwrap().is_empty());
    let two = ["127.0.0.2", "::1"].map(|text| text.parse::<IpAddr>().unwrap());
    assert_eq!(sources("127.0.0.2, ::1").unwrap(), two);
    assert_eq!(sources("localhost").unwrap_err().at, "source");
}

#[test]
fn connections_are_shared_out_completely() {
    let mut resolved = resolve(Job { threads: 3, connections: 10, ..job() }).unwrap();
    resolved.job.threads = 3;
    let shares: Vec<u32> = (0..3).map(|thread| resolved.connections_of(thread)).collect();
    assert_eq!(shares, [4, 3, 3]);
}
