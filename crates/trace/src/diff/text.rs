//! The comparison as people read it: at most 80 columns, no colour needed.

use std::fmt::Write as _;

use sojourn_base::quantiles::name_of;
use sojourn_base::units::{Way, outward, show_bound_ns, show_ns};
use sojourn_base::visible::in_line;

use crate::judge::difference::{DiffResult, Part, Table, TraceFacts};
use crate::reconstruct::parts::VerdictWord;

/// Parts listed; the others are added up.
const LISTED: usize = 9;
/// A smaller change is not listed: share of the first side's total.
const SHOWN: f64 = 0.005;
/// Parts named in the answer.
const NAMED: usize = 3;
const NOT_COMPARED: &str = "causes of the tail are not compared";

/// Writing to a string cannot fail.
macro_rules! put {
    ($page:expr, $($arg:tt)*) => { let _ = writeln!($page, $($arg)*); };
}

/// The whole comparison as a page of text.
pub fn page(result: &DiffResult) -> String {
    let mut page = String::new();
    side(&mut page, "first", &result.first);
    side(&mut page, "second", &result.second);
    for difference in &result.differs {
        put!(page, "they differ in {}", in_line(difference));
    }
    put!(page, "\n{:30}{:>9} {:>9} {:>10}   95 % interval", "", "first", "second", "change");
    table(&mut page, "mean of all requests", &result.mean);
    table(&mut page, &tail_name(&result.tail), &result.tail);
    if let Some(culprits) = &result.culprits {
        table(&mut page, &format!("causes of the tail, {}", name_of(culprits.q)), culprits);
    }
    if let Some(why) = &result.culprits_unknown {
        put!(page, "\n{NOT_COMPARED}: {}", in_line(why));
    }
    if !result.functions.is_empty() {
        put!(page, "\nfunctions in which the tail slept, with what they called");
        result.functions.iter().for_each(|part| line(&mut page, part));
    }
    let [first, second] = result.counts;
    put!(
        page,
        "\nintervals from {first} and {second} {} of each side; * it has moved",
        result.units
    );
    put!(page, "{}", in_line(&result.answer));
    let word = match result.verdict {
        VerdictWord::Holds => "holds",
        VerdictWord::Unknown => "unknown",
    };
    put!(page, "verdict: {word}");
    result.reasons.iter().for_each(|reason| {
        put!(page, "  {}", in_line(reason));
    });
    page
}

fn side(page: &mut String, name: &str, traces: &[TraceFacts]) {
    let requests: u64 = traces.iter().map(|trace| trace.requests).sum();
    let files: Vec<&str> = traces.iter().map(|trace| trace.file.as_str()).collect();
    let process = traces.first().map_or("", |trace| trace.name.as_str());
    put!(page, "{name}: {}, {requests} requests, {}", in_line(process), in_line(&files.join(" ")));
}

fn tail_name(table: &Table) -> String {
    let [first, second] = table.requests;
    format!("tail from {}, {first} and {second} requests", name_of(table.q))
}

fn table(page: &mut String, title: &str, table: &Table) {
    put!(page, "\n{title}");
    line(page, &table.total);
    let is_large =
        |part: &&Part| part.has_moved || part.change_ns.abs() >= SHOWN * table.total.first_ns;
    let listed: Vec<&Part> = table.parts.iter().filter(is_large).take(LISTED).collect();
    for part in &listed {
        line(page, part);
    }
    let sum = |of: fn(&Part) -> f64| {
        table.parts.iter().map(of).sum::<f64>() - listed.iter().map(|part| of(part)).sum::<f64>()
    };
    let left = table.parts.len() - listed.len();
    if left > 0 {
        let change = signed(sum(|part| part.change_ns));
        let [first, second] = [sum(|p| p.first_ns), sum(|p| p.second_ns)].map(show_ns);
        put!(page, "  {:28}{first:>9} {second:>9} {change:>10}", format!("{left} other parts"));
    }
    let causes = table.causes.iter().filter(is_large);
    let causes: Vec<String> =
        causes.map(|part| format!("{} {}", part.name, signed(part.change_ns))).collect();
    if !causes.is_empty() {
        put!(page, "  by cause: {}", causes.join(", "));
    }
}

fn line(page: &mut String, part: &Part) {
    let mark = if part.has_moved { '*' } else { ' ' };
    let name: String = in_line(&part.name).chars().take(27).collect();
    put!(
        page,
        "{mark} {name:28}{:>9} {:>9} {:>10}   {}",
        show_ns(part.first_ns),
        show_ns(part.second_ns),
        signed(part.change_ns),
        interval(part)
    );
}

fn interval(part: &Part) -> String {
    match (part.low_ns, part.high_ns) {
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ => "no end known".into(),
    }
}

/// With its sign: `+1.2 ms`.
pub fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "+" };
    format!("{sign}{}", show_ns(ns.abs()))
}

/// The answer in a sentence.
pub fn answer(result: &DiffResult) -> String {
    if result.verdict == VerdictWord::Unknown {
        let why = result.reasons.first().map_or("", String::as_str);
        return format!("nothing is named: {why}");
    }
    let mut sentences = Vec::new();
    for (what, table) in [("the mean", &result.mean), ("the tail's mean", &result.tail)] {
        let moved: Vec<String> = table
            .parts
            .iter()
            .filter(|part| part.has_moved)
            .take(NAMED)
            .map(|part| format!("{} {} ({})", part.name, signed(part.change_ns), interval(part)))
            .collect();
        if !moved.is_empty() {
            let total = &table.total;
            sentences.push(format!(
                "{what} moved from {} to {}: {}",
                show_ns(total.first_ns),
                show_ns(total.second_ns),
                moved.join(", ")
            ));
        }
    }
    let culprits = result.culprits.iter().flat_map(|table| &table.parts);
    let culprits: Vec<String> = culprits
        .filter(|part| part.has_moved)
        .take(NAMED)
        .map(|part| format!("{} {}", part.name, signed(part.change_ns)))
        .collect();
    if !culprits.is_empty() {
        sentences.push(format!("of that, by cause: {}", culprits.join(", ")));
    }
    let moved = if sentences.is_empty() { still(result) } else { sentences.join("; ") };
    match &result.culprits_unknown {
        Some(why) => format!("{moved}; {NOT_COMPARED}: {why}"),
        None => moved,
    }
}

/// Nothing moved, and what would not have been seen.
fn still(result: &DiffResult) -> String {
    let least = format!("{:.0} %", outward(result.least * 100.0, 0, Way::Up));
    let hidden = |table: &Table| {
        let ends = table.parts.iter().map(|part| match (part.low_ns, part.high_ns) {
            (Some(low), Some(high)) => high.max(-low),
            _ => f64::INFINITY,
        });
        ends.fold(0.0, f64::max)
    };
    let seen = |what: &str, table: &Table| {
        let most = hidden(table);
        if most <= result.least * table.total.first_ns {
            return format!("in {what} no stage changed by more than {least}");
        }
        let most =
            if most.is_finite() { show_bound_ns(most, Way::Up) } else { "any length".into() };
        format!("in {what} a change of a stage by up to {most} cannot be excluded")
    };
    format!(
        "nothing is shown to have moved by more than {least}: {}; {}",
        seen("the mean", &result.mean),
        seen("the tail", &result.tail)
    )
}
