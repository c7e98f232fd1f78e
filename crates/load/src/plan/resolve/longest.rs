//! The longest time of a job: its times are added up, and no sum may overflow.

use sojourn_base::{Fault, units};

/// A year: beyond it, a time is a mistake in its unit.
pub(super) const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// A time that people typed under this key, ns.
pub(super) fn parsed(key: &str, text: &str) -> Result<u64, Fault> {
    let ns = units::parse_ns(text).map_err(|fault| fault.within(key))?;
    if ns > LONGEST_NS {
        return Err(Fault::usage(format!("{key} is {text}"), key, "give a year at most"));
    }
    Ok(ns)
}
