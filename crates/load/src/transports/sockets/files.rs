//! How many files a run has open, and how many may be. Connections of all its threads share one limit.

use sojourn_base::Fault;

/// The command that raises the limit; [`numbered`] puts the number behind it.
const COMMAND: &str = "ulimit -n";
/// What helps where no more files may be open.
pub(in crate::transports) const RAISE: &str = "raise the limit on open files: ulimit -n";
/// Files that this process has open beside its connections, at most.
const BESIDE: u64 = 100;

/// Files that a run has open, at most: `connections` over all threads, one more for the probe, and
/// as many again where they have spares.
pub fn needed(connections: u32, has_spares: bool) -> u64 {
    let each = if has_spares { 2 } else { 1 };
    each * (u64::from(connections) + 1) + BESIDE
}

/// How many files may be open in this process; any number where that is not known.
pub fn allowed() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills `limit`, which outlives the call.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    if is_known { limit.rlim_cur } else { u64::MAX }
}

/// `fault` with the number of files that the run needs, if its advice is to raise the limit.
#[must_use]
pub fn numbered(fault: Fault, needed: u64) -> Fault {
    if !fault.fix.ends_with(COMMAND) {
        return fault;
    }
    Fault { fix: format!("{} {needed}", fault.fix), ..fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_needs_a_file_for_each_connection_and_two_where_they_have_spares() {
        assert_eq!((needed(400, false), needed(400, true)), (501, 902));
        assert!(allowed() > 0);
    }

    #[test]
    fn the_number_comes_behind_the_command_and_nowhere_else() {
        let fix = |fix: &str| numbered(Fault::failed("", "", fix), 501).fix;
        assert_eq!(fix(RAISE), "raise the limit on open files: ulimit -n 501");
        assert_eq!(fix("check address, port and firewall"), "check address, port and firewall");
    }
}
