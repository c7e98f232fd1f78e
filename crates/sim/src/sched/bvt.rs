//! Borrowed virtual time on top of CFS: a warped task counts as further behind than it is.
//!
//! Warp decides who preempts whom; it leaves the long-run shares alone, because virtual time
//! itself still advances by weight. Decisions are also made when a runner's lead is used up, not
//! only at ticks (the HRTICK extension). Warp 0 for all differs from `cfs` in that alone.

use sojourn_base::kind::Kind;

use super::PolicyKind;
use super::fair::Fair;

pub(super) const KIND: PolicyKind = PolicyKind {
    kind: Kind {
        name: "bvt",
        about: "CFS by effective virtual time = virtual time - warp",
        usage: "bvt (bvt)",
        params: &[],
        needs: &[],
        source: "the patch to CFS of Leverich and Kozyrakis 2014, section 4.3.4 (L26, gist 5913713); the idea is of Duda and Cheriton, SOSP 1999",
    },
    has_quota: false,
    build: |knobs, terms| Box::new(Fair::new(knobs, terms, true)),
};
