//! Borrowed virtual time, the arithmetic alone: integers in, integers out, nothing of `std`.
//!
//! Kept apart so that a scheduler in a kernel can be compared with it line by line. Virtual times
//! are ns at the standard weight; they may wrap, so they are compared by their difference.
//!
//! Source: the patch to CFS of Leverich and Kozyrakis 2014 (L26, gist 5913713), after Duda and Cheriton,
//! Borrowed-Virtual-Time (BVT) scheduling, SOSP 1999, sections 3 and 4;
//! placement of waking tasks as in CFS: Leverich and Kozyrakis 2014, sections 3.3 and 4.3.4 (L20, L26).

/// The weight of a task that was given none; 1024 in Linux.
pub const WEIGHT_STANDARD: u64 = 1024;

/// Virtual time that `ran_ns` of real time cost at `weight`.
pub const fn cost(ran_ns: u64, weight: u64) -> i64 {
    (ran_ns as u128 * WEIGHT_STANDARD as u128 / weight as u128) as i64
}

/// Real time after which a task of `weight` has used `virtual_ns`; rounded up.
pub const fn real_ns(virtual_ns: i64, weight: u64) -> u64 {
    if virtual_ns <= 0 {
        return 0;
    }
    (virtual_ns as u128 * weight as u128).div_ceil(WEIGHT_STANDARD as u128) as u64
}

/// Effective virtual time, by which tasks are chosen: a warped task borrows from its future.
pub const fn effective(virtual_time: i64, warp_ns: i64) -> i64 {
    virtual_time.wrapping_sub(warp_ns)
}

/// Whether `a` comes before `b`.
pub const fn before(a: i64, b: i64) -> bool {
    a.wrapping_sub(b) < 0
}

/// The later of two virtual times, which may have wrapped.
pub const fn later(a: i64, b: i64) -> i64 {
    if before(a, b) { b } else { a }
}

/// Where a waking task is put: at most `credit_ns` (L) behind the least of those awake.
pub const fn place(own: i64, least: i64, credit_ns: i64) -> i64 {
    later(own, least.wrapping_sub(credit_ns))
}

/// Whether a task with effective time `woken` takes the CPU from `running`: it must be behind by
/// more than `granularity_ns`, both warped.
pub const fn preempts(woken: i64, running: i64, granularity_ns: i64) -> bool {
    running.wrapping_sub(woken) > granularity_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_weight_costs_half_the_virtual_time() {
        assert_eq!(cost(1_000_000, 1024), 1_000_000);
        assert_eq!(cost(1_000_000, 2048), 500_000);
        assert_eq!(real_ns(500_000, 2048), 1_000_000);
        assert_eq!(cost(u64::MAX / 4, 1024), i64::MAX / 2);
        assert_eq!((cost(3, 2048), real_ns(1, 1), real_ns(0, 9), real_ns(-5, 1024)), (1, 1, 0, 0));
    }

    #[test]
    fn nothing_comes_before_itself() {
        assert!(!before(5, 5) && before(4, 5) && !before(5, 4));
        assert_eq!((later(3, 4), later(4, 3), place(7, 9, 2)), (4, 4, 7));
        assert!(!preempts(1, 5, 4) && preempts(0, 5, 4));
    }

    /// Fig. 7: B wakes L behind A and preempts. Fig. 10: with warp(A) > L it does not.
    #[test]
    fn figures_7_and_10() {
        let (l, a) = (12_000_000, 500_000_000);
        let b = place(0, a, l);
        assert_eq!(a - b, l);
        assert!(preempts(effective(b, 0), effective(a, 0), 0));
        assert!(!preempts(effective(b, 0), effective(a, l + 1), 0));
    }

    #[test]
    fn a_task_that_is_ahead_keeps_its_place_and_order_survives_wrapping() {
        assert_eq!(place(900, 500, 100), 900);
        assert!(before(i64::MAX, i64::MAX.wrapping_add(10)));
        assert!(preempts(i64::MAX - 5, i64::MAX.wrapping_add(10), 14));
    }
}
