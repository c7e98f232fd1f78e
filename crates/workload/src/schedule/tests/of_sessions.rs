use super::*;
use crate::plan::Planned;

/// Sessions of two seconds: six requests, 0, 0.5, 0.875, … 2 s after their begin.
const TEXT: &str = "playback:chunks=5,every=375ms,start=500ms,mix=0.25/0.75";

fn in_sessions() -> Workload {
    Workload { sessions: TEXT.into(), items: 3 * 2 * 6, rate: "6k".into(), ..asked() }
}

fn drawn(asked: &Workload, thread: u32) -> Vec<InSession> {
    let sessions = sessions::parse(&asked.sessions).unwrap().unwrap();
    let mut drawn = InSessions::new(asked, &sessions, thread).unwrap();
    std::iter::from_fn(|| drawn.next_planned().unwrap()).collect()
}

#[test]
fn each_session_asks_for_one_film_in_its_order_at_its_times() {
    let all = drawn(&in_sessions(), 0);
    let sessions = sessions::parse(TEXT).unwrap().unwrap();
    let last = all.iter().map(|one| one.session).max().unwrap();
    let mut whole = 0;
    for session in 0..=last {
        let own: Vec<&InSession> = all.iter().filter(|one| one.session == session).collect();
        let Some(first) = own.first() else { continue };
        for (one, nth) in own.iter().zip(first.nth..) {
            let (at, item) = (one.planned.intended_ns, one.planned.item);
            let apart = sessions.offset_ns(nth) - sessions.offset_ns(first.nth);
            assert_eq!((one.nth, at - first.planned.intended_ns), (nth, apart));
            assert_eq!(item - first.planned.item, nth - first.nth);
            assert_eq!(sessions.nth(item), nth);
        }
        whole += u32::from(own.len() == 6);
    }
    assert!(whole > 500, "{whole}");
}

/// Nothing of the start is seen: a load of sessions is as high in its first moment as ever.
#[test]
fn sessions_that_began_before_the_load_are_there_from_its_first_moment() {
    let due_ns: Vec<u64> =
        drawn(&in_sessions(), 0).iter().map(|one| one.planned.intended_ns).collect();
    for (from, to) in [(0, 100), (100, 1000), (1000, 2900), (2900, 3000)] {
        let at = |ms: u64| due_ns.partition_point(|&ns| ns < ms * 1_000_000);
        let (seen, wanted) = ((at(to) - at(from)) as f64, 6.0 * (to - from) as f64);
        let scatter = sessions::parse(TEXT).unwrap().unwrap().dispersion((to - from) * 1_000_000);
        let allowed = 5.0 * (scatter * wanted).sqrt();
        assert!((seen - wanted).abs() < allowed, "five sigma: {from} to {to}: {seen}, {wanted}");
    }
}

#[test]
fn a_changing_rate_is_that_of_begins_and_the_expected_number_follows_it() {
    for rate in ["steps:2k@1s,8k@1s", "ramp:1k..10k"] {
        let asked = Workload { rate: rate.into(), ..in_sessions() };
        let timetable = Timetable::of(&asked).unwrap();
        let due_ns = asked.draw(0).unwrap().intended_ns;
        for (from_ms, to_ms) in [(0, 1000), (1000, 2000), (2000, 3000)] {
            let [from, to] = [from_ms, to_ms].map(|ms: u64| ms * 1_000_000);
            let wanted = timetable.expected_by(to as f64) - timetable.expected_by(from as f64);
            let at = |ns: u64| due_ns.partition_point(|&due| due < ns) as f64;
            let off = (at(to) - at(from) - wanted).abs();
            assert!(off < 5.0 * (6.0 * wanted).sqrt(), "five sigma: {rate} {from_ms}: {off}");
        }
    }
}

#[test]
fn threads_share_the_sessions() {
    for arrivals in ["poisson", "gamma:2"] {
        let one = Workload { arrivals: arrivals.into(), ..in_sessions() };
        let many = Workload { threads: 3, ..one.clone() };
        let all: usize = (0..3).map(|k| many.draw(k).unwrap().item.len()).sum();
        let sigma = (4.0 * 6.0 * 18_000_f64).sqrt(); // gamma:2 scatters by four
        assert!((all as f64 - 18_000.0).abs() < 5.0 * sigma, "five sigma: {arrivals} {all}");
        if arrivals != "poisson" {
            let mut due: Vec<u64> =
                (0..3).flat_map(|k| many.draw(k).unwrap().intended_ns).collect();
            due.sort_unstable();
            assert_eq!(due, one.draw(0).unwrap().intended_ns, "dealt out, session by session");
        }
    }
}

#[test]
fn drawn_at_once_and_piece_by_piece_it_is_the_same_plan() {
    let asked = in_sessions();
    let plan = asked.draw(0).unwrap();
    let mut drawing = Drawing::new(&asked, 0).unwrap();
    let pieces: Vec<Planned> = std::iter::from_fn(|| drawing.next_planned().unwrap()).collect();
    assert_eq!(plan.intended_ns, pieces.iter().map(|one| one.intended_ns).collect::<Vec<_>>());
    assert_eq!(plan.item, pieces.iter().map(|one| one.item).collect::<Vec<_>>());
    assert!(plan.intended_ns.is_sorted() && plan.intended_ns[plan.measured_from] >= 1_000_000_000);
}

/// A closed loop and a probe ask for play lists and chunks as often as sessions do, in the same qualities.
#[test]
fn who_is_in_no_session_asks_for_what_sessions_ask_for() {
    let asked = Workload { requests_max: 100_000, ..in_sessions() };
    let plan = asked.draw_closed(0).unwrap();
    let n = plan.item.len() as f64;
    let seen = |is: &dyn Fn(u32) -> bool| plan.item.iter().filter(|&&it| is(it)).count() as f64;
    for (count, share) in
        [(seen(&|item| item % 6 == 0), 1.0 / 6.0), (seen(&|item| item / 6 % 2 == 1), 0.75)]
    {
        let sigma = (n * share * (1.0 - share)).sqrt();
        assert!((count - n * share).abs() < 5.0 * sigma, "five sigma: {share}: {count} of {n}");
    }
    assert!(asked.draw_probe(100.0).unwrap().item.iter().all(|&item| item < 36));
}

#[test]
fn items_that_are_no_whole_films_are_refused() {
    let fault = Workload { items: 37, ..in_sessions() }.draw(0).unwrap_err();
    assert!(fault.what.contains("37 items") && fault.at.starts_with("sessions"), "{fault}");
}
