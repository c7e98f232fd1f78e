//! Linux's Completely Fair Scheduler, as of 3.5: equal virtual time, sleepers get L of credit.
//!
//! The credit is what breaks a latency-critical service: a task that sleeps a lot wakes L behind,
//! takes the CPU and may keep it for L (L18, L20).

use sojourn_base::kind::Kind;

use super::PolicyKind;
use super::fair::Fair;

pub(super) const KIND: PolicyKind = PolicyKind {
    kind: Kind {
        name: "cfs",
        about: "least virtual time runs; waking tasks are placed at most L behind",
        usage: "cfs (cfs)",
        params: &[],
        needs: &[],
        source: "Linux 3.5 kernel/sched/fair.c; Leverich and Kozyrakis 2014, section 3.3 (L20)",
    },
    has_quota: false,
    build: |knobs, terms| Box::new(Fair::new(knobs, terms, false)),
};
