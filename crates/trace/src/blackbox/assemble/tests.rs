//! A dump from known memory.

use super::*;
use crate::blackbox::{otlp, perfetto};
use crate::culprit::seen::{Off, OffKind};
use sojourn_base::units::NS_PER_S;

const MS: u64 = 1_000_000;

/// Ten requests of 20 ms that waited for a stop, of which the kernel counted `counted`.
fn made(counted: u64) -> Dump {
    made_with(counted, Beside { dropped: counted - 10, ..Beside::default() })
}

/// The same, and what was counted beside them; before the dump begins, more was lost.
fn made_with(counted: u64, beside: Beside) -> Dump {
    made_when(counted, beside, &|_, _| ())
}

/// The same, after `before`, which may look up parts and drop events.
fn made_when(counted: u64, beside: Beside, before: &dyn Fn(&mut Memory, &mut Seen)) -> Dump {
    let mut memory = Memory::new(60 * NS_PER_S, 1_000);
    let slow =
        |n: u64| Slow { start_ns: NS_PER_S + n, total_ns: 20 * MS, tid: 7, ..Slow::default() };
    (0..10).for_each(|n| memory.add(slow(n)));
    let mut tally = Tally::new(60 * NS_PER_S);
    let mut totals = vec![0; bins::TOTAL.count()];
    totals[bins::TOTAL.of(100_000)] = 990;
    totals[bins::TOTAL.of(20 * MS)] = counted;
    let (foreign, events_lost, unwatched_ns) = (7, 9, 90 * NS_PER_S);
    let unix = |ns: u64| (ns, ns + 1_000 * NS_PER_S);
    tally.add(unix(0), &[], Beside { foreign, events_lost, unwatched_ns, ..Beside::default() }, MS);
    let ever = Beside {
        foreign: foreign + beside.foreign,
        events_lost: events_lost + beside.events_lost,
        unwatched_ns: unwatched_ns + beside.unwatched_ns,
        ..beside
    };
    tally.add(unix(2 * NS_PER_S), &totals, ever, MS);
    let stop = Off {
        tid: 7,
        tgid: 7,
        cpu: 0,
        kind: OffKind::Stopped,
        from_ns: NS_PER_S,
        woken_ns: NS_PER_S + 19 * MS,
        here_ns: NS_PER_S + 19 * MS,
        to_ns: NS_PER_S + 19 * MS,
        is_idle: false,
        call: None,
        kernel_stack: -1,
        user_stack: -1,
        waker: None,
        file: None,
    };
    let mut seen = Seen { offs: vec![stop], ..Seen::default() };
    before(&mut memory, &mut seen);
    let seen_from_ns = if seen.offs.is_empty() { 2 * NS_PER_S } else { 0 };
    dump(Facts {
        target: TargetFacts { pid: 7, name: "echo".into(), pids: vec![7], ports: vec![80] },
        cause: Cause { kind: "over".into(), ..Cause::default() },
        kernel: "6.18".into(),
        span: (0, 2 * NS_PER_S),
        unix_less_mono_ns: 1_000 * NS_PER_S,
        over_ns: Some(5 * MS),
        memory: &memory,
        tally: &tally,
        seen: &seen,
        seen_from_ns,
        signals: &signals(),
        names: &HashMap::from([((0, 7), "worker".to_owned())]),
    })
}

fn signals() -> [Signal; 1] {
    let comm = "sh \u{1b}[2J".to_owned();
    [Signal { at_ns: NS_PER_S - 1, number: 19, tid: 5, tgid: 5, comm, target: 7 }]
}

#[test]
fn a_dump_has_the_slow_requests_and_who_took_their_time() {
    let dump = made(10);
    assert_eq!((dump.requests, dump.slow.len(), dump.blind.stored), (1_000, 10, 10));
    assert_eq!((dump.blind.share, dump.blind.unexplained), (0.0, 0));
    let culprit = &dump.culprits[0];
    assert_eq!((culprit.kind.as_str(), culprit.requests), ("stopped", 10));
    assert!(culprit.about.contains("sh \\x1b[2J"), "no control is left: {}", culprit.about);
    assert!(dump.answer.contains("10 of 1000 requests") && dump.answer.contains("stopped"));
    assert_eq!(dump.slow[0].culprits[0].0, 0);
    assert_eq!(dump.slow[0].start_unix_ns - dump.slow[0].start_ns, 1_000 * NS_PER_S);
    let text = serde_json::to_string(&dump).unwrap();
    assert_eq!(serde_json::from_str::<Dump>(&text).unwrap(), dump, "it is read as it was written");
}

/// Ten minutes of a busy machine have more events than there is room for.
#[test]
fn a_request_has_its_culprit_after_its_events_have_left() {
    let cut_early = |memory: &mut Memory, seen: &mut Seen| {
        let signals = signals();
        let names = HashMap::from([((0, 7), "worker".to_owned())]);
        let known =
            Known { index: &Index::new(seen, [7]), from_ns: 0, signals: &signals, names: &names };
        memory.cut(2 * NS_PER_S, |slow| cut::cut(slow, &known));
        seen.offs.clear();
    };
    let beside = Beside { dropped: 0, ..Beside::default() };
    let early = made_when(10, beside, &cut_early);
    assert_eq!(early, made(10), "as if they were there");
    let late = made_when(10, beside, &|_, seen| seen.offs.clear());
    assert_eq!((late.culprits.len(), late.culprits[0].kind.as_str()), (1, "unseen"));
    assert_eq!((late.blind.unexplained, late.blind.stored), (10, 10), "said to have no cause");
}

#[test]
fn a_service_without_traffic_is_said_to_have_none() {
    let text = answer(&[0, 0], &Blind::default(), &[], (0, 60 * NS_PER_S));
    assert_eq!(text, "no request of the service was seen in the last 60.0 s");
}

#[test]
fn requests_that_are_not_here_are_in_the_blind_rate() {
    let dump = made(40);
    assert_eq!((dump.blind.slow_requests, dump.blind.stored, dump.blind.dropped), (40, 10, 30));
    assert!((dump.blind.share - 0.75).abs() < 1e-9);
}

#[test]
fn times_that_are_lower_bounds_are_in_the_blind_rate_and_many_in_the_warnings() {
    let with = |lower_bounds| {
        made_with(10, Beside { lower_bounds, together: 2 * lower_bounds, ..Beside::default() })
    };
    let few = with(10);
    assert_eq!((few.blind.lower_bounds, few.blind.together), (10, 20));
    assert!(few.warnings.is_empty(), "{:?}", few.warnings);
    let many = with(11);
    assert!(many.warnings[0].starts_with("11 of 1000 requests may have taken longer"), "{many:?}");
    let mut text = serde_json::to_value(&few).unwrap();
    let blind = text["blind"].as_object_mut().unwrap();
    assert!(blind.remove("lower_bounds").is_some() && blind.remove("together").is_some());
    let old: Dump = serde_json::from_value(text).unwrap();
    assert_eq!(old.blind.lower_bounds, 0, "a dump from before");
}

/// A unit that began long before its service, and once lost events, is not blind for ever.
#[test]
fn what_was_lost_before_the_dump_begins_is_not_in_it() {
    let lost = |dump: &Dump| (dump.blind.foreign, dump.blind.events_lost, dump.blind.unwatched_ns);
    let dump = made(10);
    assert_eq!(lost(&dump), (0, 0, 0));
    assert!(dump.warnings.is_empty(), "{:?}", dump.warnings);
    let beside = Beside { foreign: 3, events_lost: 4, unwatched_ns: 5, ..Beside::default() };
    let dump = made_with(10, beside);
    assert_eq!(lost(&dump), (3, 4, 5));
    assert!(dump.warnings[0].starts_with("4 events of the scheduler"), "{:?}", dump.warnings);
}

#[test]
fn other_viewers_have_the_same_requests() {
    let dump = made(10);
    let trace = perfetto::trace(&dump);
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |what: &str| events.iter().filter(|event| event["ph"] == what).count();
    assert_eq!((of("X"), of("i")), (10 * 3, 1), "a request and its two stages each");
    let mut far = dump.clone();
    for (request, port) in far.slow.iter_mut().zip(40_000..) {
        (request.tid, request.peer_port) = (4_194_303, port);
    }
    let text = serde_json::to_string(&perfetto::trace(&far)).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let slices: Vec<&serde_json::Value> =
        trace["traceEvents"].as_array().unwrap().iter().filter(|it| it["ph"] == "X").collect();
    let ends = |it: &serde_json::Value| {
        let from = it["ts"].as_f64().unwrap();
        (from, from + it["dur"].as_f64().unwrap())
    };
    for parts in slices.chunks(3) {
        let (whole, last) = (ends(parts[0]), ends(parts[2]));
        assert!((last.1 - whole.1).abs() < 0.01, "stages fill their request: {parts:?}");
        assert!(parts.iter().all(|it| it["tid"] == parts[0]["tid"] && ends(it).0 >= whole.0));
        assert!(parts[0]["tid"].as_u64().unwrap() <= 10, "ten connections, ten small numbers");
    }
    let spans: serde_json::Value = serde_json::from_str(&otlp::line(&dump)).unwrap();
    let spans = spans["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 30);
    let parents: Vec<&str> =
        spans.iter().filter_map(|span| span.get("parentSpanId")?.as_str()).collect();
    assert!(parents.iter().all(|id| spans.iter().any(|span| span["spanId"] == *id)));
    assert_eq!(spans[0]["traceId"].as_str().unwrap().len(), 32);
}

#[test]
fn a_stack_is_of_the_sleep_that_it_was_seen_in() {
    let two = |_: &mut Memory, seen: &mut Seen| {
        let stop = seen.offs[0].clone();
        let sleep = |from: u64, to: u64, call: libc::c_long, kernel_stack| Off {
            kind: OffKind::Asleep,
            from_ns: NS_PER_S + from * MS,
            woken_ns: NS_PER_S + to * MS,
            here_ns: NS_PER_S + to * MS,
            to_ns: NS_PER_S + to * MS,
            call: u32::try_from(call).ok(),
            kernel_stack,
            ..stop.clone()
        };
        let (lock, nap) = (libc::SYS_futex, libc::SYS_clock_nanosleep);
        seen.offs = vec![sleep(1, 11, lock, 1), sleep(12, 15, nap, 2)];
        let names = [(1, "futex_wait"), (2, "do_nanosleep")];
        seen.stacks.kernel = names.map(|(number, name)| (number, vec![name.into()])).into();
    };
    let dump = made_when(10, Beside::default(), &two);
    let stack = |kind: &str| dump.culprits.iter().find(|it| it.kind == kind).unwrap().stack.clone();
    assert_eq!((stack("futex"), stack("sleep")), (vec!["futex_wait_[k]".to_owned()], vec![]));
}
