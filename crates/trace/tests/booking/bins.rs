//! The hooks count a time in the bin that this side reads it from.

use sojourn_trace::reconstruct::bins::{self, STAGE, TOTAL};

/// Around every power of two, where a bin begins, and in between.
fn times_ns() -> Vec<u64> {
    let around = |bit: u32| {
        let power = 1_u64 << bit;
        [power - 1, power, power + 1, power + power / 3, power + power / 2]
    };
    (0..200).chain((4..62).flat_map(around)).collect()
}

#[test]
fn both_sides_have_the_same_bins() {
    let times_ns = times_ns();
    let result = crate::world::binned(&times_ns);
    assert_eq!(result.len(), times_ns.len());
    for (ns, result) in times_ns.into_iter().zip(result) {
        assert_eq!(result, [STAGE.of(ns), TOTAL.of(ns), bins::row_of(ns)], "{ns} ns");
    }
}
