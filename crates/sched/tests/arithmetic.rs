//! The kernel side's arithmetic is the simulator's, number by number, and keeps what it promises.
//!
//! Both are asked the same at random: small times, times that wrap, ties, and every weight.

#![allow(clippy::unwrap_used)] // a test that cannot start has failed

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_sim::sched::bvt_arithmetic as sim;

const TIMES: usize = 2_000;
const RAN_NS_MAX: u64 = 1 << 53;
const WEIGHT_MAX: u64 = 1 << 23;
const VIRTUAL_NS_MAX: i64 = 1 << 40;

type Asked = (&'static str, [i64; 4]);

/// The header as a program, compiled once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sched-arithmetic");
        let done = Command::new("cc")
            .args(["-O1", "-std=gnu11", "-Wall", "-Werror", "-o"])
            .arg(&program)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arithmetic.c"))
            .output()
            .expect("a C compiler, cc, is there: see scripts/setup");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        program
    })
}

/// What the header answers, in order.
fn header(asked: &[Asked]) -> Vec<i64> {
    let mut child =
        Command::new(program()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = |(name, [a, b, c, d]): &Asked| format!("{name} {a} {b} {c} {d}\n");
    let text: String = asked.iter().map(line).collect();
    let writer = thread::spawn(move || stdin.write_all(text.as_bytes()));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// A virtual time, and another that is a while, nothing or half of eternity away.
fn times(random: &mut Xoshiro256PlusPlus) -> (i64, i64) {
    let a: i64 = random.random();
    let far = match random.random_range(0..4) {
        0 => 0,
        1 => random.random_range(-5..=5),
        2 => random.random_range(-VIRTUAL_NS_MAX..=VIRTUAL_NS_MAX),
        _ => random.random(),
    };
    (a, a.wrapping_add(far))
}

#[test]
fn the_headers_arithmetic_is_the_simulators() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(26);
    let (mut asked, mut expected): (Vec<Asked>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut ask = |name, numbers, answer| {
        asked.push((name, numbers));
        expected.push(answer);
    };
    for _ in 0..TIMES {
        let (a, b) = times(&mut random);
        let span: i64 = random.random_range(0..VIRTUAL_NS_MAX);
        let signed = random.random_range(-span..=span.max(1));
        let (smaller, shorter) = (random.random_range(0..20), random.random_range(0..40));
        let weight = random.random_range(1..=WEIGHT_MAX >> smaller);
        let ran = random.random_range(0..RAN_NS_MAX >> shorter);
        let weight_i = weight as i64;
        ask("cost", [ran as i64, weight_i, 0, 0], sim::cost(ran, weight));
        ask("real_ns", [signed, weight_i, 0, 0], sim::real_ns(signed, weight) as i64);
        ask("effective", [a, span, 0, 0], sim::effective(a, span));
        ask("before", [a, b, 0, 0], i64::from(sim::before(a, b)));
        ask("later", [a, b, 0, 0], sim::later(a, b));
        ask("place", [a, b, span, 0], sim::place(a, b, span));
        for b in [b, a.wrapping_add(span), a.wrapping_add(span + 1)] {
            ask("preempts", [a, b, span, 0], i64::from(sim::preempts(a, b, span)));
        }
    }
    assert_eq!(header(&asked), expected);
}

#[test]
fn what_only_the_header_has_keeps_its_promises() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(27);
    let mut asked: Vec<Asked> = Vec::new();
    let mut cases = Vec::new();
    for _ in 0..TIMES {
        // Tasks that are awake, as (actual, warp); the one with least effective time is chosen.
        let base: i64 = random.random();
        let svt = base.wrapping_sub(random.random_range(0..VIRTUAL_NS_MAX));
        let tasks: Vec<(i64, i64)> = (0..random.random_range(1..6))
            .map(|_| {
                let warp = if random.random() { random.random_range(0..20_000_000) } else { 0 };
                (base.wrapping_add(random.random_range(0..50_000_000)), warp)
            })
            .collect();
        let first = tasks.iter().map(|&(vt, warp)| sim::effective(vt, warp));
        let first = first.reduce(|a, b| if sim::before(b, a) { b } else { a }).unwrap();
        let least_warp = tasks.iter().map(|task| task.1).min().unwrap();
        let allowance: i64 = random.random_range(0..5_000_000);
        let weight: u64 = random.random_range(1..=WEIGHT_MAX);
        let running = first.wrapping_add(random.random_range(-5_000_000..5_000_000));
        asked.push(("advanced", [svt, first, least_warp, 0]));
        asked.push(("overtaken_ns", [first, running, allowance, weight as i64]));
        cases.push((svt, first, tasks, allowance, weight, running));
    }
    let answers = header(&asked);
    for (answer, (svt, first, tasks, allowance, weight, running)) in answers.chunks(2).zip(cases) {
        // A lower bound of all, which never goes back, and is met where no one has warp.
        assert!(!sim::before(answer[0], svt));
        assert!(tasks.iter().all(|&(vt, _)| !sim::before(vt, answer[0])));
        if tasks.iter().all(|task| task.1 == 0) {
            assert!(tasks.iter().any(|&(vt, _)| vt == answer[0]));
        }
        // It preempts then, and not much earlier.
        let wait_ns = answer[1] as u64;
        let then = running.wrapping_add(sim::cost(wait_ns, weight));
        assert!(sim::preempts(first, then, allowance));
        let earlier = wait_ns.saturating_sub(2 * weight.div_ceil(1024) + 1);
        let then = running.wrapping_add(sim::cost(earlier, weight));
        assert!(wait_ns == 0 || !sim::preempts(first, then, allowance));
    }
}

#[test]
fn limits_moves_and_weights() {
    let asked: [Asked; 9] = [
        ("warp_left", [5, 0, i64::MAX, 0]),
        ("warp_left", [5, 10, 10, 0]),
        ("warp_left", [5, 10, 11, 0]),
        ("moved", [130, 100, 1_000, 0]),
        ("moved", [i64::MAX, i64::MIN, 5, 0]),
        ("weight_of", [1024, 100, 0, 0]),
        ("weight_of", [2048, 50, 0, 0]),
        ("weight_of", [10, 1, 0, 0]),
        ("weight_of", [102_400, 10_000, 0, 0]),
    ];
    let expected = [5, 5, 0, 1_030, 4, 1024, 1024, 1, 1 << 23];
    assert_eq!(header(&asked), expected);
}
