//! Who is to blame, in one sentence.

use sojourn_base::quantiles::name_of;
use sojourn_base::units::show_ns;

use super::rule::{Weighed, Weights};
use super::suspect::Suspect;

/// Culprits in the sentence.
const NAMED: usize = 3;
/// Least share of the excess from which on what the service did by itself is named.
const NAMED_SHARE_MIN: f64 = 0.1;

/// One sentence: who, and how much of the excess.
pub fn answer(q: f64, weights: &Weights, doubts: &[String]) -> String {
    let head = name_of(q);
    if let Some(doubt) = doubts.first() {
        return none(q, doubt);
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
    if others >= NAMED_SHARE_MIN {
        parts.push(format!("{:.0} % others, each small or once only", others * 100.0));
    }
    let unexplained = unexplained(weights);
    parts.push(format!("{:.0} % unexplained", (unexplained * 100.0).max(0.0)));
    format!("{head}: {}", parts.join(", "))
}

/// The sentence where the answer must not be believed, for that reason.
pub fn none(q: f64, why: &str) -> String {
    format!("{}: no suspect can be named: {why}", name_of(q))
}

fn nobody(head: &str, weights: &Weights) -> String {
    let longer = show_ns(weights.excess_ns());
    let slow = format!("these requests take {longer} longer");
    if let Some(own) = largest_own(weights) {
        let (share, own) = (own.share * 100.0, own.suspect.words());
        return format!("{head}: no suspect is to blame: {slow}, {share:.0} % of it {own}");
    }
    let tasks = unnamed_tasks(weights);
    let share = tasks.iter().sum::<f64>();
    let behind = format!("{:.0} % of it run-queue delay behind", share * 100.0);
    match tasks.len() {
        _ if share < NAMED_SHARE_MIN => format!("{head}: no suspect is to blame: {slow}"),
        1 => format!("{head}: no suspect is to blame: {slow}, {behind} one task, once or twice"),
        n => format!("{head}: no single task can be named: {slow}, {behind} {n} tasks"),
    }
}

/// What is put down to somebody who may not be named, beside those who are.
fn unnamed(weights: &Weights) -> f64 {
    let is_it = |weighed: &&Weighed| weighed.suspect.is_nameable() && !weighed.is_named;
    weights.suspects.iter().filter(is_it).map(|weighed| weighed.share).sum()
}

/// Shares of the tasks of a tail in which none may be named by itself.
fn unnamed_tasks(weights: &Weights) -> Vec<f64> {
    let is_task = |weighed: &&Weighed| {
        matches!(weighed.suspect, Suspect::Task { .. }) && weighed.share >= 0.005
    };
    weights.suspects.iter().filter(is_task).map(|weighed| weighed.share).collect()
}

/// The stage that the service itself took longest for.
fn largest_own(weights: &Weights) -> Option<&Weighed> {
    let is_own = |weighed: &&Weighed| {
        matches!(weighed.suspect, Suspect::Stage(_)) && !weighed.suspect.is_unexplained()
    };
    weights.suspects.iter().find(is_own).filter(|weighed| weighed.share >= NAMED_SHARE_MIN)
}

fn unexplained(weights: &Weights) -> f64 {
    let unknown = weights.suspects.iter().filter(|weighed| weighed.suspect.is_unexplained());
    unknown.map(|weighed| weighed.share).sum()
}
