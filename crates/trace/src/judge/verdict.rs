//! May the numbers be believed? Every failed check is a sentence.

use crate::culprit::result::Blame;
use crate::judge::result::{TraceResult, Verdict, VerdictWord};
use crate::reconstruct::counts::{Counts, Reads};
use crate::reconstruct::reasons::{REASONS, Weight};

/// Largest share of matched requests whose split between stages is wrong.
const SPLIT_MAX: f64 = 0.01;
/// Largest share of matched requests that lack the same detail: from here on it is no detail.
const NOTE_MAX: f64 = 0.2;
/// Largest share of reads with more than one request in them.
const SEVERAL_MAX: f64 = 0.01;

/// What a result may have and still be believed.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Largest unmatched ÷ (matched + unmatched).
    pub unmatched_max: f64,
    /// Largest residual ÷ total.
    pub residual_max: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { unmatched_max: 0.01, residual_max: 0.05 }
    }
}

impl Verdict {
    /// Why it is unknown, in a sentence; `None`: it holds.
    pub fn doubt(&self) -> Option<&str> {
        self.verdict.doubt(&self.reasons)
    }
}

/// Who is to blame, as people see it: where the trace is unknown no one is named. `None`: it was not asked for.
pub fn shown_blame(result: &TraceResult) -> Option<Blame> {
    let blame = result.blame.clone()?;
    Some(match result.verdict.doubt() {
        Some(why) => blame.doubted(&format!("the trace is unknown: {why}")),
        None => blame,
    })
}

/// Unmatched ÷ (matched + unmatched); 0 without requests.
pub fn unmatched_share(counts: &Counts) -> f64 {
    let unmatched = counts.weighing(Weight::Unmatched);
    unmatched as f64 / (counts.matched() + unmatched).max(1) as f64
}

/// Judges `counts`; `residual` is its share of the time of all requests and of those at and above p99,
/// `before` are reasons already known, such as a service that died.
pub fn judge(
    counts: &Counts,
    residual: (f64, f64),
    bounds: Bounds,
    before: Vec<String>,
) -> Verdict {
    let mut reasons = before;
    if counts.matched() == 0 {
        reasons.push("no request was matched: was there any load on the traced ports?".into());
    }
    let share = unmatched_share(counts);
    if share > bounds.unmatched_max {
        reasons.push(format!(
            "{:.2} % of the requests could not be matched, more than {:.2} %: {}",
            share * 100.0,
            bounds.unmatched_max * 100.0,
            worst_reason(counts, Weight::Unmatched)
        ));
    }
    let dropped = counts.weighing(Weight::Dropped);
    if dropped > 0 {
        reasons.push(format!("{dropped} records found the ring full: give a larger --buffer"));
    }
    for (share, owner) in
        [(residual.0, "time"), (residual.1, "time of the requests at and above p99")]
    {
        if share > bounds.residual_max {
            reasons.push(format!(
                "{:.1} % of the {owner} is explained by no stage, more than {:.1} %",
                share * 100.0,
                bounds.residual_max * 100.0
            ));
        }
    }
    let split = counts.weighing(Weight::Split);
    if split as f64 > SPLIT_MAX * counts.matched() as f64 {
        reasons.push(format!(
            "the stages of {split} of {} requests are wrong: {}",
            counts.matched(),
            worst_reason(counts, Weight::Split)
        ));
    }
    reasons.extend(notes(counts));
    let Reads { looked_into, several } = counts.reads;
    if several as f64 > SEVERAL_MAX * looked_into as f64 {
        reasons.push(format!(
            "{several} of {looked_into} reads held several requests: the client pipelines, and what one read \
             takes is counted as one request, to its last reply"
        ));
    }
    let defects = counts.weighing(Weight::Defect);
    if defects > 0 {
        reasons
            .push(format!("stages of {defects} requests do not add to their total: please report"));
    }
    let verdict = if reasons.is_empty() { VerdictWord::Holds } else { VerdictWord::Unknown };
    Verdict {
        verdict,
        reasons,
        unmatched_max: bounds.unmatched_max,
        residual_max: bounds.residual_max,
    }
}

/// What so many requests lack that their stages are no longer those of the service.
fn notes(counts: &Counts) -> impl Iterator<Item = String> {
    let matched = counts.matched();
    REASONS.iter().zip(&counts.reasons).filter_map(move |(reason, &n)| {
        let is_many = reason.weight == Weight::Note && n as f64 > NOTE_MAX * matched as f64;
        is_many.then(|| {
            format!("stages of {n} of {matched} requests are incomplete: {}", reason.about)
        })
    })
}

fn worst_reason(counts: &Counts, weight: Weight) -> String {
    REASONS
        .iter()
        .zip(&counts.reasons)
        .filter(|(reason, _)| reason.weight == weight)
        .max_by_key(|(_, n)| **n)
        .map_or_else(String::new, |(reason, n)| format!("{n} because {}", reason.about))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::diff::testing;
    use crate::output::text;
    use crate::reconstruct::counts::Row;
    use crate::reconstruct::record::tests::record;

    fn counts(matched: u64, reason: &str, n: u64) -> Counts {
        let mut row = Row::default();
        (0..matched).for_each(|_| row.add(&record(5_000)));
        let reasons = REASONS.iter().map(|r| if r.name == reason { n } else { 0 }).collect();
        Counts { rows: vec![(1, row)], reasons, ..Counts::default() }
    }

    #[test]
    fn each_failed_check_makes_it_unknown_and_says_why() {
        let judge = |c: &Counts, residual| judge(c, residual, Bounds::default(), vec![]);
        assert_eq!(judge(&counts(100, "no_reply", 1), (0.0, 0.0)).verdict, VerdictWord::Holds);
        for (counts, residual, word) in [
            (counts(100, "no_reply", 2), (0.0, 0.0), "closed before"),
            (counts(100, "record_dropped", 1), (0.0, 0.0), "--buffer"),
            (counts(100, "sum_mismatch", 1), (0.0, 0.0), "add to"),
            (counts(0, "no_reply", 0), (0.0, 0.0), "load"),
            (counts(100, "preempt_history", 2), (0.0, 0.0), "stages of 2 of 100"),
            (counts(100, "read_exit_lost", 100), (0.0, 0.0), "stages of 100 of 100"),
            (counts(100, "io_uring", 21), (0.0, 0.0), "--sample"),
            (reads(100, 2), (0.0, 0.0), "pipelines"),
            (counts(100, "no_reply", 0), (0.06, 0.0), "no stage"),
            (counts(100, "no_reply", 0), (0.01, 0.06), "p99"),
        ] {
            let verdict = judge(&counts, residual);
            assert_eq!(verdict.verdict, VerdictWord::Unknown);
            assert!(verdict.reasons[0].contains(word), "{:?}", verdict.reasons);
        }
    }

    #[test]
    fn of_a_trace_that_is_unknown_no_one_is_named() {
        let mut trace = testing::result(&testing::STAGES, &testing::requests(2, 9, 0));
        trace["blame"] = testing::blame("run-queue delay behind `xz`", 1000);
        let shown = |trace: &Value| {
            let trace: TraceResult = serde_json::from_value(trace.clone()).unwrap();
            let is_marked = text::page(&trace).contains("\n* run-queue delay");
            (is_marked, shown_blame(&trace).unwrap().answer)
        };
        assert!(shown(&trace).0);
        trace["verdict"]["verdict"] = "unknown".into();
        trace["verdict"]["reasons"] = json!(["records were dropped"]);
        let answer = "p99: no suspect can be named: the trace is unknown: records were dropped";
        assert_eq!(shown(&trace), (false, answer.into()));
    }

    fn reads(looked_into: u64, several: u64) -> Counts {
        Counts { reads: Reads { looked_into, several }, ..counts(100, "no_reply", 0) }
    }

    #[test]
    fn one_in_a_hundred_is_let_pass() {
        for counts in [counts(100, "preempt_history", 1), reads(100, 1), reads(0, 0)] {
            let verdict = judge(&counts, (0.0, 0.0), Bounds::default(), vec![]);
            assert_eq!(verdict.verdict, VerdictWord::Holds);
        }
    }

    /// Servers with an event loop open files between others' requests all the time.
    #[test]
    fn an_open_that_counts_as_application_voids_nothing() {
        let verdict =
            judge(&counts(100, "open_unsplit", 100), (0.0, 0.0), Bounds::default(), vec![]);
        assert_eq!(verdict.verdict, VerdictWord::Holds);
    }

    #[test]
    fn requests_cut_off_by_the_ends_of_the_trace_are_not_held_against_it() {
        let verdict = judge(&counts(10, "in_flight", 10), (0.0, 0.0), Bounds::default(), vec![]);
        assert_eq!(verdict.verdict, VerdictWord::Holds);
    }
}
