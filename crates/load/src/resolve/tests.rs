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
    assert_eq!(fault(|job| job.duration = "1e20s".into()).at, "duration");
    assert_eq!(fault(|job| job.transport = "carrier-pigeon".into()).at, "transport");
    assert_eq!(fault(|job| job.wait = "doze".into()).at, "wait");
    assert_eq!(fault(|job| job.hlog = "-".into()).at, "hlog");
    let bound = fault(|job| (job.qos_quantile, job.qos_bound) = (0.99, "0s".into()));
    assert_eq!(bound.at, "qos_bound");
    assert_eq!(fault(|job| job.raw = "-".into()).at, "raw");
    assert_eq!(fault(|job| job.schema = "sojourn.load.job/9".into()).at, "schema");
    assert_eq!(fault(|job| job.probe_rate = f64::NAN).at, "probe_rate");
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
fn connections_are_shared_out_completely() {
    let mut resolved = resolve(Job { threads: 3, connections: 10, ..job() }).unwrap();
    resolved.job.threads = 3;
    let shares: Vec<u32> = (0..3).map(|thread| resolved.connections_of(thread)).collect();
    assert_eq!(shares, [4, 3, 3]);
}
