//! What the service says of itself when it ends: the service times, with an interval of their mean.

use serde::Serialize;
use serde_json::Value;
use sojourn_base::span::{Span, Times};

use crate::args::Settings;

/// Version of the report's form.
pub const SCHEMA: &str = "sojourn.query.report/1";
/// Consecutive services whose mean is taken as one independent number.
const BATCH: u64 = 64;
/// Fewer batches bound nothing.
const BATCHES_MIN: usize = 8;
/// Student's 97.5 % for 7 degrees of freedom: never too narrow for eight batches or more.
const STUDENT: f64 = 2.365;

/// A mean with its 95 % interval, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Over all.
    pub mean: f64,
    /// Lower end; `null` where there are too few.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// How many.
    pub count: u64,
}

/// The report, as it is written.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this form.
    pub schema: &'static str,
    /// Program and version.
    pub program: String,
    /// As it was started.
    pub settings: Settings,
    /// Queries answered.
    pub answered: u64,
    /// Requests that were no query, or had no answer.
    pub refused: u64,
    /// Times at which a connection could not be accepted for want of descriptors or memory.
    pub unaccepted: u64,
    /// From the moment a worker took a query to that at which its answer was formed, ns.
    pub service_ns: Mean,
    /// The same as quantiles; all `null` without one.
    pub service: Span,
    /// CPU time of the worker in that time, ns, mean.
    pub cpu_ns: f64,
    /// Queries that each worker answered.
    pub by_worker: Vec<u64>,
    /// Whether the data held together at the end; not there where they never change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Value>,
}

/// Service times of one worker in the making. Noting never allocates but for a batch's mean.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    times: Times,
    means: Vec<f64>,
    batch_ns: f64,
    sum_ns: f64,
    cpu_ns: u64,
    answered: u64,
    refused: u64,
    unaccepted: u64,
}

impl Notes {
    /// A query was answered in `ns`, of which `cpu_ns` on a CPU.
    pub fn answered(&mut self, ns: u64, cpu_ns: u64) {
        self.times.add(ns);
        self.answered += 1;
        self.cpu_ns += cpu_ns;
        self.sum_ns += ns as f64;
        self.batch_ns += ns as f64;
        if self.answered.is_multiple_of(BATCH) {
            self.means.push(self.batch_ns / BATCH as f64);
            self.batch_ns = 0.0;
        }
    }

    /// A request had no answer.
    pub fn refused(&mut self) {
        self.refused += 1;
    }

    /// The reader could not accept a connection so many times.
    pub fn unaccepted(&mut self, times: u64) {
        self.unaccepted += times;
    }

    /// Service times that all workers noted, together.
    pub fn report(all: &[Self], settings: &Settings) -> Report {
        let mut times = Times::new();
        for notes in all {
            times.merge(&notes.times);
        }
        let answered = all.iter().map(|notes| notes.answered).sum();
        let sum_ns: f64 = all.iter().map(|notes| notes.sum_ns).sum();
        let cpu_ns: u64 = all.iter().map(|notes| notes.cpu_ns).sum();
        let means: Vec<f64> = all.iter().flat_map(|notes| notes.means.iter().copied()).collect();
        Report {
            schema: SCHEMA,
            program: format!("sojourn-query {}", env!("CARGO_PKG_VERSION")),
            settings: settings.clone(),
            answered,
            refused: all.iter().map(|notes| notes.refused).sum(),
            unaccepted: all.iter().map(|notes| notes.unaccepted).sum(),
            service_ns: bounded(&means, sum_ns, answered),
            service: times.span(),
            cpu_ns: cpu_ns as f64 / (answered as f64).max(1.0),
            by_worker: all.iter().map(|notes| notes.answered).collect(),
            check: None,
        }
    }
}

/// The mean of all with Student's interval from the means of batches (M9).
fn bounded(means: &[f64], sum_ns: f64, count: u64) -> Mean {
    let mean = sum_ns / (count as f64).max(1.0);
    if means.len() < BATCHES_MIN {
        return Mean { mean, lo: None, hi: None, count };
    }
    let n = means.len() as f64;
    let middle = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|one| (one - middle).powi(2)).sum::<f64>() / (n - 1.0);
    let half = STUDENT * (variance / n).sqrt();
    Mean { mean, lo: Some(mean - half), hi: Some(mean + half), count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_batch_means() {
        let means = [1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0];
        let result = bounded(&means, 1024.0, 512);
        let half = 2.365 * (8.0f64 / 7.0 / 8.0).sqrt();
        assert_eq!(result.mean, 2.0);
        assert!((result.hi.unwrap() - 2.0 - half).abs() < 1e-9);
        assert_eq!(bounded(&means[..7], 1024.0, 512).lo, None);
    }

    #[test]
    fn what_workers_noted_adds_up() {
        let settings = Settings::default();
        let mut one = Notes::default();
        (0..128).for_each(|_| one.answered(1000, 900));
        one.refused();
        one.unaccepted(3);
        let report = Notes::report(&[one.clone(), one], &settings);
        assert_eq!((report.answered, report.refused, report.by_worker), (256, 2, vec![128, 128]));
        assert_eq!(report.unaccepted, 6);
        assert_eq!((report.service_ns.mean, report.cpu_ns), (1000.0, 900.0));
    }
}
