//! A test that cannot run says so, and as root fails: nothing passes because it did not look.

use sojourn_base::Fault;

use crate::support::{ALLOW_SKIP, may_skip};

#[test]
fn only_root_may_not_leave_a_test_out_unless_that_is_allowed() {
    let lack = Fault::usage("no right to load BPF programs", "capabilities", "run it on the host");
    assert_eq!(may_skip(false, false, &lack), Ok(()));
    assert_eq!(may_skip(false, true, &lack), Ok(()));
    assert_eq!(may_skip(true, true, &lack), Ok(()));
    let why = may_skip(true, false, &lack).unwrap_err();
    for part in ["no right to load BPF programs", "run it on the host", ALLOW_SKIP] {
        assert!(why.contains(part), "{part} in {why}");
    }
}
