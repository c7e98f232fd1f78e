//! Where each limit lies, and what is reported about hours that are beyond one.

use super::*;

#[test]
fn a_job_may_go_to_its_limits_and_no_further() {
    let at = |change: &dyn Fn(&mut Job)| {
        let mut job = Job::default();
        change(&mut job);
        job.check().map_err(|fault| fault.at)
    };
    let shares = |shares: [f64; 2]| {
        let platforms = shares.map(|share| Platform { share, ..Platform::default() }).to_vec();
        at(&|job| job.platforms.clone_from(&platforms))
    };
    assert_eq!((shares([0.0, 1.0]), shares([-0.5, 1.5])), (Ok(()), Err("platforms".into())));
    assert_eq!(at(&|job| job.servers = 10_000_000), Ok(()));
    assert_eq!(at(&|job| job.platforms[0].price_usd = 0.0), Ok(()));
    assert_eq!(at(&|job| job.tree[1].fanout = 1_000_000), Ok(()));
    assert_eq!(at(&|job| job.load_by_hour = vec![0.0, 0.999]), Ok(()));
    for (slowdown, cv, is_right) in
        [(1.0, 0.0, true), (100.0, 2.0, true), (100.1, 0.0, false), (1.0, -0.1, false)]
    {
        let result = at(&|job| (job.neighbour_slowdown, job.imbalance_cv) = (slowdown, cv));
        assert_eq!(result.is_ok(), is_right, "{slowdown} {cv}");
    }
    let table = |table: &[[f64; 2]]| at(&|job| job.neighbour_throughput = table.to_vec()).is_ok();
    assert!(table(&[[0.0, 0.0], [0.1, 1.0]]) && !table(&[[0.1, 0.5], [0.1, 0.4]]));
    assert!(!table(&[[0.1, -0.1]]));
    assert_eq!(at(&|job| (job.samples, job.roots) = (1, 1)), Ok(()));
}

/// Three hours of which the second is the worst: at its limit nothing is said, beyond it its name.
#[test]
fn reasons_name_the_worst_hour_beyond_each_limit() {
    let job = Job { servers: 2, roots: 10, load_by_hour: vec![0.1, 0.2, 0.3], ..Job::default() };
    let fleet = Fleet::new(&job).unwrap();
    let text = |change: &dyn Fn(&mut HourResult, f64)| {
        let mut hours: Vec<HourResult> = (0..3).map(|hour| fleet.hour(hour, 1)).collect();
        for (result, part) in hours.iter_mut().zip([0.5, 1.0, 1.0]) {
            (result.cold_share, result.hour.unstable_share) = (0.0, 0.0);
            (result.server_half_width, result.root_half_width) = (0.0, 0.0);
            change(result, part);
        }
        reasons(&hours)
    };
    let server =
        |times: f64| text(&|it, part| it.server_half_width = times * part * HALF_WIDTH_MAX);
    let root = |times: f64| text(&|it, part| it.root_half_width = times * part * HALF_WIDTH_MAX);
    assert_eq!((server(1.0), root(1.0), text(&|_, _| ())), (vec![], vec![], vec![]));
    for (result, owner, knob) in [(server(1.5), "server", "samples"), (root(1.5), "root", "roots")]
    {
        let [text] = &result[..] else { panic!("{result:?}") };
        assert!(text.starts_with(&format!("{owner} times are known to ±4.5 % (95 %) in hour 1")));
        assert!(text.ends_with(&format!("ask for 3 times the {knob}")), "{text}");
    }
    let cold = text(&|it, part| it.cold_share = part / 4.0);
    assert!(cold.len() == 1 && cold[0].starts_with("cold: in hour 1 25.00 % of"), "{cold:?}");
    assert!(cold[0].ends_with("less than this load of 0.2"), "{cold:?}");
    let unstable = text(&|it, part| it.hour.unstable_share = part / 4.0);
    assert!(unstable.len() == 1 && unstable[0].contains("worst hour 25.00 %"), "{unstable:?}");
}

/// Twice the speed at a tenth of the load: no one waits, and half the service time is left.
#[test]
fn a_faster_platform_serves_in_less_time() {
    let platforms = vec![Platform { speed: 2.0, ..Platform::default() }];
    let job = Job { platforms, load_by_hour: vec![0.1], ..small() };
    let mean = run(&job, 2).unwrap().server_ns.mean.unwrap();
    assert!((mean / 5450.0 - 1.0).abs() < 0.02, "{mean}");
}

/// What has no steady state is unstable, and not cold besides, however service is made.
#[test]
fn an_unstable_server_is_not_cold_too() {
    for service in ["fixed:10", "exponential:10"] {
        let (placement, service) = ("all".into(), service.into());
        let job = Job { placement, service, neighbour_slowdown: 2.0, servers: 20, ..small() };
        let result = run(&job, 2).unwrap();
        assert!(result.reasons[0].starts_with("unstable"), "{:?}", result.reasons);
        assert!(!result.reasons.iter().any(|why| why.starts_with("cold")), "{:?}", result.reasons);
        assert!((result.hours[0].service_load - 0.7).abs() < 1e-12);
    }
}

/// Histograms end at one hour. A root's own service is ten times as long as a leaf's.
#[test]
fn times_that_were_cut_are_reported() {
    let is_cut = |s: &str| {
        let (service, unit) = (format!("fixed:{s}"), "s".into());
        let job = Job { service, unit, load_by_hour: vec![0.1], servers: 2, roots: 9, ..small() };
        run(&job, 2).unwrap().reasons.iter().any(|why| why.contains("above 1 h were cut"))
    };
    assert!(is_cut("3601") && is_cut("361") && !is_cut("90"));
}
