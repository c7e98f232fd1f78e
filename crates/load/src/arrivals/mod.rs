//! Arrival processes: the gaps between intended arrivals. One file per kind; `KINDS` is the table.
//!
//! Every process is drawn with a mean gap of 1 ("operational time"); `schedule` stretches it to
//! the offered load, constant or changing (see `rate`). So a process knows nothing of rates,
//! threads or clocks, and its tests are closed forms.

mod fixed;
mod poisson;

use std::fmt::Debug;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, near};
use sojourn_base::rng::Rng;

/// Gaps between arrivals, in mean gaps. Never sees a reply, so the loop stays open.
pub trait ArrivalProcess: Debug {
    /// Gap to the next intended arrival; the mean of all gaps is 1. Pure: same state, same gap.
    fn next_gap(&mut self, rng: &mut Rng) -> f64;

    /// Variance of the number of arrivals in a long time over its mean; infinite where it has none.
    fn dispersion(&self) -> f64;

    /// P(gap ≤ `gap`), where gaps are independent and continuous; `None` where there is no such law.
    fn cdf(&self, gap: f64) -> Option<f64> {
        let _ = gap;
        None
    }

    /// Whether k independent copies at 1/k of the rate make the same process. If not, `schedule`
    /// draws the process once and deals its arrivals out to the threads.
    fn superposes(&self) -> bool {
        false
    }

    /// The rate that a recorded process brings along, requests/s; it replaces the job's.
    fn own_rate_rps(&self) -> Option<f64> {
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

/// Every arrival process, in reading order.
pub const KINDS: &[ArrivalKind] = &[poisson::KIND, fixed::KIND];

/// Reads `name` or `name:parameters`; `rate_rps` is the mean rate, for those that count in time.
pub fn parse(text: &str, rate_rps: f64) -> Result<Process, Fault> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let Some(entry) = KINDS.iter().find(|entry| entry.kind.name == name.trim()) else {
        return Err(unknown(name));
    };
    (entry.build)(rest, rate_rps).map_err(|fault| fault.within("arrivals"))
}

fn unknown(name: &str) -> Fault {
    let names: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
    let hint = near(name, names.iter().copied())
        .first()
        .map_or(String::new(), |n| format!("did you mean {n}? "));
    let known = names.join(", ");
    let what = format!("no arrival process is called '{name}'");
    Fault::usage(what, "arrivals", format!("{hint}known: {known}"))
}

/// Refuses parameters where a kind has none.
fn no_params(text: &str, kind: &Kind) -> Result<(), Fault> {
    if text.is_empty() {
        return Ok(());
    }
    let what = format!("{} takes no parameters, '{text}' given", kind.name);
    Err(Fault::usage(what, "", format!("write {}", kind.name)))
}
