//! The result as people read it: the answer, then a table; at most 80 columns.

use std::fmt::Write as _;

use sojourn_base::units::show_ns;
use sojourn_base::visible::in_line;

use super::{LONG_NS, Seen, WhoResult};

/// Lines of the table; the rest is summed.
const TASKS_MAX: usize = 20;

/// One line: who ran longest at a time.
pub fn answer(seen: &Seen) -> String {
    let cpus: Vec<String> = seen.cpus.iter().map(u32::to_string).collect();
    let seconds = seen.duration_ns as f64 / 1e9;
    let head = format!("CPU {}, {seconds:.1} s", cpus.join(","));
    let long = |task: &&super::WhoTask| task.long_runs > 0;
    let Some(worst) = seen.tasks.iter().filter(long).max_by_key(|task| task.long_ns) else {
        return format!("{head}: no task ran longer than {} ms at a time", LONG_NS as f64 / 1e6);
    };
    format!(
        "{head}: {} ({}) ran over {} ms {} times, up to {}",
        in_line(&worst.name),
        number(worst.tid),
        LONG_NS as f64 / 1e6,
        worst.long_runs,
        show_ns(worst.longest_ns as f64)
    )
}

/// Of a thread or process, if it has one here.
fn number(number: u32) -> String {
    if number == 0 { "outside".into() } else { number.to_string() }
}

/// The whole result as a page of text for people.
pub fn page(result: &WhoResult) -> String {
    let mut page = format!("{}\n\n", result.answer);
    let _ = writeln!(
        page,
        "{:16}{:>9}{:>9}{:>8}{:>8}{:>12}{:>10}",
        "task", "thread", "process", "runs", "share", ">0.3 ms /s", "longest"
    );
    for task in result.tasks.iter().take(TASKS_MAX) {
        let process = if task.is_kernel { "kernel".into() } else { number(task.pid) };
        let _ = writeln!(
            page,
            "{:16}{:>9}{process:>9}{:>8}{:>6.2} %{:>12.1}{:>10}",
            in_line(&task.name),
            number(task.tid),
            task.runs,
            task.share * 100.0,
            task.long_runs_per_s,
            show_ns(task.longest_ns as f64)
        );
    }
    if let Some(more @ 1..) = result.tasks.len().checked_sub(TASKS_MAX) {
        let share: f64 = result.tasks[TASKS_MAX..].iter().map(|task| task.share).sum();
        let _ = writeln!(page, "and {more} more, {:.2} % together", share * 100.0);
    }
    let _ = writeln!(
        page,
        "\nidle {:.1} %, left out {:.1} %, unknown {:.1} % (unseen {:.1} %, dropped {:.1} %)",
        result.idle_share * 100.0,
        result.left_out_share * 100.0,
        result.unknown_share * 100.0,
        result.unseen_share * 100.0,
        result.dropped_share * 100.0
    );
    for warning in &result.warnings {
        let _ = writeln!(page, "warning: {warning}");
    }
    page
}
