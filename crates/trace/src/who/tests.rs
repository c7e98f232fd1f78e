use super::*;

fn task(name: &str, runs: u64, run_ns: u64, long: (u64, u64)) -> WhoTask {
    let (long_runs, long_ns) = long;
    let longest_ns = long_ns.max(100);
    WhoTask {
        name: name.into(),
        tid: 7,
        runs,
        run_ns,
        long_runs,
        long_ns,
        longest_ns,
        ..WhoTask::default()
    }
}

fn seen() -> Seen {
    Seen {
        cpus: vec![0, 1],
        duration_ns: 4_000_000_000,
        tasks: vec![
            task("busy", 1000, 100_000_000, (0, 0)),
            task("kdamond.0", 10, 40_000_000, (8, 39_000_000)),
        ],
        idle_ns: 7_000_000_000,
        left_out_ns: 600_000_000,
        ..Seen::default()
    }
}

#[test]
fn shares_are_of_all_cpus_and_add_to_one() {
    let result = result("6.18".into(), seen());
    let tasks: f64 = result.tasks.iter().map(|task| task.share).sum();
    let sum = tasks + result.idle_share + result.left_out_share + result.unknown_share;
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert!((result.tasks[0].share - 0.04 / 8.0).abs() < 1e-12);
    assert!((result.tasks[0].long_runs_per_s - 2.0).abs() < 1e-12);
}

/// A CPU's line as the hooks write it.
fn line(fields: &[(usize, u64)]) -> Vec<u8> {
    let mut line = vec![0; who_cpu::SIZE];
    for (at, ns) in fields {
        line[*at..at + 8].copy_from_slice(&ns.to_ne_bytes());
    }
    line
}

#[test]
fn every_moment_that_the_kernel_side_counts_is_in_the_result() {
    let mut seen = Seen { cpus: vec![0, 1], duration_ns: 1_000_000_000, ..Seen::default() };
    let (idle, left_out, unseen) = (who_cpu::IDLE_NS, who_cpu::LEFT_OUT_NS, who_cpu::UNSEEN_NS);
    let dropped = [(who_cpu::DROPPED_NS, 60_000_000), (who_cpu::DROPPED_RUNS, 3)];
    seen.add_cpu(&line(&[(idle, 900_000_000), (left_out, 100_000_000)]));
    seen.add_cpu(&line(&[(idle, 900_000_000), (unseen, 40_000_000), dropped[0], dropped[1]]));
    assert_eq!((seen.unseen_ns, seen.dropped_ns, seen.dropped_runs), (40_000_000, 60_000_000, 3));
    let result = result("6.18".into(), seen);
    assert!((result.unseen_share - 0.02).abs() < 1e-9, "{result:?}");
    assert!((result.dropped_share - 0.03).abs() < 1e-9, "{result:?}");
    assert!((result.unknown_share - 0.05).abs() < 1e-9, "{result:?}");
    let page = text::page(&result);
    assert!(page.contains("unknown 5.0 % (unseen 2.0 %, dropped 3.0 %)"), "{page}");
    assert!(page.contains("warning: the kernel did not report all switches"), "{page}");
    assert!(page.contains("warning: 3 runs (60.0 ms) of tasks"), "{page}");
}

#[test]
fn little_time_without_a_known_task_is_stated_without_a_warning() {
    let result = result("6.18".into(), Seen { unseen_ns: 80_000_000, ..seen() });
    assert!((result.unseen_share - 0.01).abs() < 1e-9 && result.warnings.is_empty(), "{result:?}");
}

#[test]
fn whoever_ran_long_comes_before_whoever_ran_much() {
    let result = result("6.18".into(), seen());
    assert_eq!(result.tasks[0].name, "kdamond.0");
    let page = text::page(&result);
    assert!(page.starts_with("CPU 0,1, 4.0 s: kdamond.0 (7) ran over 0.3 ms 8 times"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn the_name_of_a_task_is_letters_in_one_line() {
    let evil = task("\x1b]0;OWN\x07\n\u{202e}", 10, 40_000_000, (8, 39_000_000));
    let result = result("6.18".into(), Seen { tasks: vec![evil], ..seen() });
    let page = text::page(&result);
    assert!(!page.contains(|c: char| c == '\u{202e}' || (c.is_control() && c != '\n')), "{page:?}");
    assert_eq!(page.matches("\\x1b]0;OWN\\x07\\x0a\\u202e").count(), 2, "{page}");
}

#[test]
fn no_one_is_a_sentence_too() {
    let result = result("6.18".into(), Seen { tasks: vec![], ..seen() });
    assert!(
        result.answer.contains("no task ran longer than 0.3 ms at a time"),
        "{}",
        result.answer
    );
}

#[test]
fn lists_of_cpus_are_read_and_mistakes_named() {
    assert_eq!(parse_cpus("0,2-3").unwrap(), [0, 2, 3]);
    assert_eq!(parse_cpus("1, 1").unwrap(), [1]);
    for wrong in ["", "a", "3-1", "1024", "-1", "0,,1"] {
        assert_eq!(parse_cpus(wrong).unwrap_err().at, "--who", "{wrong}");
    }
}

#[test]
fn all_parts_have_room_for_as_many_cpus_as_a_large_machine_has() {
    assert_eq!(super::MAX_CPUS, 1024, "two sockets of 192 cores with two threads each are 768");
    let line = format!("#define MAX_CPUS {}\n", super::MAX_CPUS);
    for text in [
        include_str!("../bpf/shapes.h"),
        include_str!("../bpf/culprit.h"),
        include_str!("../bpf/who.bpf.c"),
        include_str!("../../../sched/src/bpf/shapes.h"),
    ] {
        assert!(text.contains(&line));
    }
}
