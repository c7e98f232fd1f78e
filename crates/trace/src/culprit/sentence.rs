//! Who is to blame, in one sentence.

use sojourn_base::units::show_ns;

use super::rule::{Weighed, Weights};
use super::suspect::Suspect;

/// Culprits in the sentence.
const NAMED: usize = 3;
/// What the service did by itself is told from here on.
const TOLD: f64 = 0.1;

/// The quantile as people say it: `p99`, `p99.9`.
pub fn quantile(q: f64) -> String {
    format!("p{}", (q * 1e6).round() / 1e4)
}

/// One sentence: who, and how much of the excess.
pub fn answer(q: f64, weights: &Weights, doubts: &[String]) -> String {
    let head = quantile(q);
    if let Some(doubt) = doubts.first() {
        return format!("{head}: nobody can be named: {doubt}");
    }
    let mut parts: Vec<String> = weights
        .suspects
        .iter()
        .filter(|weighed| weighed.is_named)
        .take(NAMED)
        .enumerate()
        .map(|(number, weighed)| {
            let of = if number == 0 { "of the excess is " } else { "" };
            format!("{:.0} % {of}{}", weighed.share * 100.0, weighed.suspect.words())
        })
        .collect();
    if parts.is_empty() {
        return nobody(&head, weights);
    }
    if let Some(own) = largest_own(weights) {
        parts.push(format!("{:.0} % {}", own.share * 100.0, own.suspect.words()));
    }
    let others = unnamed(weights);
    if others >= TOLD {
        parts.push(format!("{:.0} % others, each small or once only", others * 100.0));
    }
    let unexplained = unexplained(weights);
    parts.push(format!("{:.0} % unexplained", (unexplained * 100.0).max(0.0)));
    format!("{head}: {}", parts.join(", "))
}

fn nobody(head: &str, weights: &Weights) -> String {
    let longer = show_ns(weights.excess_ns());
    let slow = format!("{head}: nobody is to blame: these requests take {longer} longer");
    match largest_own(weights) {
        Some(own) => {
            format!("{slow}, {:.0} % of it {}", own.share * 100.0, own.suspect.words())
        }
        None => format!("{slow}{}", by_many(weights)),
    }
}

/// What is put down to somebody who may not be named, beside those who are.
fn unnamed(weights: &Weights) -> f64 {
    let is_it = |weighed: &&Weighed| weighed.suspect.is_nameable() && !weighed.is_named;
    weights.suspects.iter().filter(is_it).map(|weighed| weighed.share).sum()
}

/// Several tasks, none of which may be named by itself.
fn by_many(weights: &Weights) -> String {
    let is_task = |weighed: &&Weighed| {
        matches!(weighed.suspect, Suspect::Task { .. }) && weighed.share >= 0.005
    };
    let tasks: Vec<f64> = weights.suspects.iter().filter(is_task).map(|w| w.share).collect();
    let share = tasks.iter().sum::<f64>();
    if share < TOLD {
        return String::new();
    }
    let whom = match tasks.len() {
        1 => "one task, once or twice".into(),
        n => format!("{n} tasks"),
    };
    format!(", {:.0} % of it run-queue delay behind {whom}", share * 100.0)
}

/// The stage that the service itself took longest for.
fn largest_own(weights: &Weights) -> Option<&Weighed> {
    let is_own = |weighed: &&Weighed| {
        matches!(weighed.suspect, Suspect::Stage(_)) && !weighed.suspect.is_unexplained()
    };
    weights.suspects.iter().find(is_own).filter(|weighed| weighed.share >= TOLD)
}

fn unexplained(weights: &Weights) -> f64 {
    let unknown = weights.suspects.iter().filter(|weighed| weighed.suspect.is_unexplained());
    unknown.map(|weighed| weighed.share).sum()
}
