//! Who may be named, and who may not: [`super::super::rule`], condition by condition.

use super::*;

/// Short tasks of the kernel make the slowest of fast requests; that is no culprit.
#[test]
fn a_quiet_run_names_no_one() {
    let slow = |at_ns, seen: &mut Seen| {
        seen.offs.push(preempted(at_ns, 60 * US));
        seen.runs.push(run("kworker/0:1", "", at_ns, 60 * US));
        request(at_ns, &[("application", 50 * US), ("runq_delay", 60 * US)])
    };
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(named(&blame), [""; 0]);
    assert!(blame.suspects[0].share > 0.9, "it is listed all the same");
    assert!(blame.answer.starts_with("p90: no suspect is to blame"), "{}", blame.answer);
}

/// All that is slow is the service's own.
#[test]
fn queuing_and_work_are_reported_and_not_named() {
    let slow = |at_ns, _: &mut Seen| request(at_ns, &[("application", MS), ("batch_wait", 9 * MS)]);
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(named(&blame), [""; 0]);
    assert!(blame.answer.contains("90 % of it queuing behind other requests (batch_wait)"));
}

/// One stall of a second, with a hundred requests in it, is one event.
#[test]
fn one_accident_is_no_culprit() {
    let mut scene = Scene::new(behind_xz, nothing);
    for record in &mut scene.kept.tail {
        record.start_ns = SPAN.0 + 3000 * MS + (record.start_ns - SPAN.0) / 100;
    }
    let from_ns = SPAN.0 + 3000 * MS;
    scene.seen.runs = vec![run("xz", "batch", from_ns, 200 * MS)];
    scene.seen.offs = vec![preempted(from_ns, 200 * MS)];
    let blame = scene.blame();
    assert!(blame.suspects[0].share > 0.9, "{:?}", blame.suspects[0]);
    assert_eq!(named(&blame), [""; 0]);
}

/// Slow requests everywhere, and among them one stall, which takes more than all else together.
#[test]
fn one_accident_among_other_slow_requests_is_none_either() {
    let slow = |at_ns, seen: &mut Seen| {
        let is_it = (3000 * MS..3500 * MS).contains(&(at_ns - SPAN.0));
        let stalled_ns = if is_it { 90 * MS } else { 0 };
        seen.offs.push(preempted(at_ns, stalled_ns));
        seen.runs.push(run("xz", "", at_ns, stalled_ns));
        request(at_ns, &[("application", 2 * MS), ("runq_delay", stalled_ns)])
    };
    let blame = Scene::new(slow, nothing).blame();
    assert!(blame.suspects[0].share > 0.6, "{:?}", blame.suspects[0]);
    assert_eq!((blame.suspects[0].kind.as_str(), named(&blame).len()), ("task", 0));
}

/// Whoever is not named has a share all the same.
#[test]
fn the_sentence_accounts_for_those_it_does_not_name() {
    let mut number = 0;
    let slow = |at_ns, seen: &mut Seen| {
        let record = behind_xz(at_ns, seen);
        if number % 5 == 0 {
            seen.runs.last_mut().unwrap().comm = format!("task {}", number / 5 % 4).into();
        }
        number += 1;
        record
    };
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(named(&blame), ["task xz"]);
    assert!(blame.answer.contains("20 % others, each small or once only"), "{}", blame.answer);
}

/// Two and a half times as much of what everybody has is not what makes some slow.
#[test]
fn what_strikes_everybody_is_not_to_blame() {
    let strike = |at_ns: u64, ns: u64, seen: &mut Seen| {
        seen.offs.push(preempted(at_ns, ns));
        seen.runs.push(run("xz", "", at_ns, ns));
    };
    let slow = |at_ns, seen: &mut Seen| {
        strike(at_ns, MS, seen);
        request(at_ns, &[("application", 50 * US), ("runq_delay", MS)])
    };
    let mut scene = Scene::new(slow, |at_ns, seen| strike(at_ns, 400 * US, seen));
    for record in &mut scene.kept.body {
        *record = request(record.start_ns, &[("application", 50 * US), ("runq_delay", 400 * US)]);
    }
    let blame = scene.blame();
    assert!(blame.suspects[0].share > 0.9, "{:?}", blame.suspects[0]);
    assert_eq!(named(&blame), [""; 0]);
}

/// `xz` behind 9 ms of work: a twentieth of the excess.
#[test]
fn a_small_share_is_not_to_blame() {
    let slow = |at_ns, seen: &mut Seen| {
        seen.offs.push(preempted(at_ns, 500 * US));
        seen.runs.push(run("xz", "", at_ns, 500 * US));
        request(at_ns, &[("application", 9 * MS), ("runq_delay", 500 * US)])
    };
    assert_eq!(named(&Scene::new(slow, nothing).blame()), [""; 0]);
}

/// The slowest are hardly slower than the others: there is no tail to explain.
#[test]
fn where_there_is_no_tail_no_one_is_to_blame() {
    let slow = |at_ns, seen: &mut Seen| {
        seen.offs.push(preempted(at_ns, 500 * US));
        seen.runs.push(run("xz", "", at_ns, 500 * US));
        request(at_ns, &[("application", 2 * MS), ("runq_delay", 500 * US)])
    };
    let mut scene = Scene::new(slow, nothing);
    for record in &mut scene.kept.body {
        *record = request(record.start_ns, &[("application", 2 * MS)]);
    }
    let blame = scene.blame();
    assert!(blame.suspects[0].share > 0.9, "{:?}", blame.suspects[0]);
    assert_eq!(named(&blame), [""; 0]);
}

#[test]
fn whoever_lost_events_or_requests_names_no_one() {
    let mut scene = Scene::new(behind_xz, nothing);
    scene.seen.losses.lost = 11;
    let blame = scene.blame();
    assert_eq!((blame.verdict, named(&blame).len()), (VerdictWord::Unknown, 0));
    assert!(blame.answer.contains("found no room"), "{}", blame.answer);
    scene.seen.losses.lost = 10;
    assert_eq!(scene.blame().verdict, VerdictWord::Holds, "one in a hundred is let pass");
    scene.kept.tail.truncate(19);
    assert!(scene.blame().reasons[0].contains("too few"));
}

/// Many that each do a little are added up, and not named.
#[test]
fn many_small_ones_are_told_together() {
    let mut number = 0;
    let slow = |at_ns, seen: &mut Seen| {
        number += 1;
        seen.offs.push(preempted(at_ns, 4 * MS));
        seen.runs.push(run(&format!("task {}", number % 20), "", at_ns, 4 * MS));
        request(at_ns, &[("application", 40 * US), ("runq_delay", 4 * MS)])
    };
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(named(&blame), [""; 0]);
    let answer = "100 % of it run-queue delay behind 20 tasks";
    assert!(blame.answer.ends_with(answer), "{}", blame.answer);
}

/// A tail that lies in three pieces of the trace, `xz` in each with so much of every request's 4 ms.
fn in_three_pieces(taken_us: [u64; 3]) -> Blame {
    let mut number = 0;
    let slow = |_, seen: &mut Seen| {
        let (piece, at_ns) = (number % 3, SPAN.0 + number % 3 * 500 * MS + number * 4 * MS);
        number += 1;
        let ns = taken_us[piece as usize] * US;
        seen.offs.push(preempted(at_ns, ns));
        seen.runs.push(run("xz", "", at_ns, ns));
        request(at_ns, &[("application", 4 * MS - ns), ("runq_delay", ns)])
    };
    Scene::new(slow, nothing).blame()
}

/// How much three pieces differ is known badly: Student's t is 9.9 then, and not the 2.9 of twenty.
#[test]
fn few_pieces_must_agree_better_than_many() {
    assert_eq!(named(&in_three_pieces([2400, 2400, 2400])), ["task xz"]);
    let blame = in_three_pieces([1800, 2400, 3000]);
    assert!((blame.suspects[0].share - 0.6).abs() < 0.02, "{:?}", blame.suspects[0]);
    assert_eq!(named(&blame), [""; 0]);
}
