//! Arrival processes: the gaps between intended arrivals. One file per kind; `KINDS` is the table.
//!
//! Every process is drawn with a mean gap of 1 ("operational time"); `schedule` stretches it to
//! the offered load, constant or changing (see `rate`). So a process knows nothing of rates,
//! threads or clocks, and its tests are closed forms.

mod fb_ia;
mod fixed;
mod gamma;
mod lognormal;
mod onoff;
mod pareto;
mod poisson;
mod renewal;
mod trace;
mod zipf;

pub use trace::{trace_file, trace_of};

use std::fmt::Debug;

use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind};
use sojourn_base::rng::Rng;

/// Gaps between arrivals, in mean gaps. Never sees a reply, so the loop stays open.
pub trait ArrivalProcess: Debug + Send {
    /// Gap to the next intended arrival; the mean of all gaps is 1. Pure: same state, same gap.
    fn next_gap(&mut self, rng: &mut Rng) -> f64;

    /// Fills `gaps`, the same as so many calls of [`Self::next_gap`]; a loop without indirect calls.
    fn fill(&mut self, rng: &mut Rng, gaps: &mut [f64]) {
        for gap in gaps {
            *gap = self.next_gap(rng);
        }
    }

    /// Variance of the number of arrivals in a long time over its mean; infinite where it has none.
    fn dispersion(&self) -> f64;

    /// Whether k independent copies at 1/k of the rate make the same process, which is what makes a
    /// process Poisson (its gaps are tested, see `selfcheck`). If not, `schedule`
    /// draws the process once and deals its arrivals out to the threads.
    fn superposes(&self) -> bool {
        false
    }

    /// The rate that a recorded process brings along, requests/s; it replaces the job's.
    fn own_rate_rps(&self) -> Option<f64> {
        None
    }

    /// What a reader of results should know of it; `None`: nothing.
    fn note(&self) -> Option<String> {
        None
    }
}

/// A boxed process, as `parse` builds it.
pub type Process = Box<dyn ArrivalProcess>;

/// One entry of the table.
pub struct ArrivalKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Builds it from the text after the colon, for a mean rate in requests/s.
    pub build: fn(&str, f64) -> Result<Process, Fault>,
}

impl AsRef<Kind> for ArrivalKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every arrival process, in reading order.
pub const KINDS: &[ArrivalKind] = &[
    poisson::KIND,
    fixed::KIND,
    gamma::KIND,
    lognormal::KIND,
    pareto::KIND,
    zipf::KIND,
    onoff::KIND,
    fb_ia::KIND,
    trace::KIND,
];

/// Reads `name` or `name:parameters`; `rate_rps` is the mean rate, for those that count in time.
pub fn parse(text: &str, rate_rps: f64) -> Result<Process, Fault> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let entry = kind::find(KINDS, name, "arrival process", "arrivals")?;
    (entry.build)(rest, rate_rps).map_err(|fault| fault.within("arrivals"))
}

/// Refuses parameters where a kind has none.
fn no_params(text: &str, kind: &Kind) -> Result<(), Fault> {
    if text.is_empty() {
        return Ok(());
    }
    let what = format!("{} takes no parameters, '{text}' given", kind.name);
    Err(Fault::usage(what, "", format!("write {}", kind.name)))
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::stream;

    use super::*;

    /// The example in a kind's usage; none for the trace, whose example would be a file.
    fn examples() -> impl Iterator<Item = &'static str> {
        KINDS
            .iter()
            .filter_map(|entry| Some(entry.kind.usage.split_once('(')?.1.trim_end_matches(')')))
    }

    #[test]
    fn the_mean_gap_is_one_for_every_kind() {
        for text in examples() {
            let mut process = parse(text, 1000.0).unwrap();
            let mut rng = stream(5, text, 0);
            let batches: Vec<f64> = (0..200)
                .map(|_| (0..5000).map(|_| process.next_gap(&mut rng)).sum::<f64>() / 5000.0)
                .collect();
            let mean = batches.iter().sum::<f64>() / 200.0;
            let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 199.0;
            let sigma = (variance / 200.0).sqrt();
            assert!(
                (mean - 1.0).abs() <= 5.0 * sigma + 1e-12,
                "{text}: {mean} ± {sigma} (5 sigma)"
            );
        }
    }

    #[test]
    fn counts_scatter_as_the_kind_says() {
        // Var(N)/E(N) of counts in windows of 2000 mean gaps; sigma of a variance of n nearly normal
        // values is √(2/n) of it, n = 500. Ten per cent more for windows that are not endless.
        for text in examples().filter(|text| !text.starts_with("pareto")) {
            let mut process = parse(text, 1000.0).unwrap();
            let mut rng = stream(6, text, 0);
            let mut counts = vec![0_u32; 500];
            let mut at = process.next_gap(&mut rng);
            while at < 2000.0 * 500.0 {
                counts[(at / 2000.0) as usize] += 1;
                at += process.next_gap(&mut rng);
            }
            let mean = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / 500.0;
            let off = |&c: &u32| (f64::from(c) - mean).powi(2);
            let index = counts.iter().map(off).sum::<f64>() / 499.0 / mean;
            let wanted = process.dispersion();
            let allowed = wanted * (5.0 * (2.0 / 500.0_f64).sqrt() + 0.1) + 1e-3;
            assert!((index - wanted).abs() < allowed, "{text}: {index}, {wanted} (5 sigma)");
        }
    }

    #[test]
    fn the_table_and_the_folder_agree() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/arrivals");
        let mut files: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into())
            .filter(|name: &String| name != "mod" && name != "renewal")
            .collect();
        files.sort();
        files.dedup(); // one may have a folder beside its file
        let mut kinds: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
        kinds.sort_unstable();
        assert_eq!(files, kinds);
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        let wrong = [
            ("posson", "poisson"),
            ("poisson:3", "write poisson"),
            ("gamma", "gamma:2"),
            ("gamma:-1", "above 0"),
            ("pareto:1", "above 1"),
            ("zipf:-1", "0 or more"),
            ("onoff:10ms", "onoff:10ms,90ms"),
            ("onoff:0,1s", "onoff:10ms,90ms"),
            ("trace:", "trace:FILE"),
        ];
        for (text, way_out) in wrong {
            let fault = parse(text, 1.0).unwrap_err();
            assert!(fault.fix.contains(way_out), "{text}: {fault}");
            assert!(fault.at.starts_with("arrivals"), "{text}: {fault}");
        }
    }
}
