/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Borrowed virtual time, the arithmetic alone: integers in, integers out.
 *
 * Function by function that of the simulator (crates/sim/src/sched/bvt_arithmetic.rs), against which
 * tests/arithmetic.rs holds it. Virtual times are ns at the standard weight; they may wrap, so they
 * are compared by their difference. Whoever includes this has s64 and u64.
 *
 * Source: Duda and Cheriton, "Borrowed-Virtual-Time (BVT) scheduling", SOSP 1999, sections 3 and 4;
 * Leverich and Kozyrakis, EuroSys 2014, section 4.3.4 (L26).
 */
#ifndef SOJOURN_ARITHMETIC_H
#define SOJOURN_ARITHMETIC_H

#define WEIGHT_STANDARD 1024
#define WEIGHT_MAX (1ULL << 23)		/* a hundred of a class times some eighty of nice -20 */
#define VIRTUAL_NS_MAX (1LL << 40)	/* 18 minutes: times WEIGHT_MAX it still fits into 64 bits */

/* Weight of a task: its class's, times what its nice value makes of the kernel's usual 100. */
static inline u64 weight_of(u64 of_class, u64 of_nice)
{
	u64 weight = of_class * of_nice / 100;

	if (weight > WEIGHT_MAX)
		return WEIGHT_MAX;
	return weight ? weight : 1;
}

/* Virtual time that `ran_ns` of real time (less than 2^54) cost at `weight`. */
static inline s64 cost(u64 ran_ns, u64 weight)
{
	return (s64)(ran_ns * WEIGHT_STANDARD / weight);
}

/* Real time after which a task of `weight` has used `virtual_ns`; rounded up. */
static inline u64 real_ns(s64 virtual_ns, u64 weight)
{
	if (virtual_ns <= 0)
		return 0;
	if (virtual_ns > VIRTUAL_NS_MAX)
		virtual_ns = VIRTUAL_NS_MAX;
	return ((u64)virtual_ns * weight + WEIGHT_STANDARD - 1) / WEIGHT_STANDARD;
}

/* Effective virtual time, by which tasks are chosen: a warped task borrows from its future. */
static inline s64 effective(s64 virtual_time, s64 warp_ns)
{
	return (s64)((u64)virtual_time - (u64)warp_ns);
}

/* Whether `a` comes before `b`. */
static inline int before(s64 a, s64 b)
{
	return (s64)((u64)a - (u64)b) < 0;
}

/* The later of two virtual times, which may have wrapped. */
static inline s64 later(s64 a, s64 b)
{
	return before(a, b) ? b : a;
}

/* Where a waking task is put: at most `credit_ns` behind the least of those awake. */
static inline s64 place(s64 own, s64 least, s64 credit_ns)
{
	return later(own, effective(least, credit_ns));
}

/*
 * Whether a task with effective time `woken` takes the CPU from `running`: it must be behind by more
 * than the allowance, both warped.
 */
static inline int preempts(s64 woken, s64 running, s64 allowance_ns)
{
	return (s64)((u64)running - (u64)woken) > allowance_ns;
}

/* Real time until `woken` will preempt a runner of `weight` that is at `running` now. */
static inline u64 overtaken_ns(s64 woken, s64 running, s64 allowance_ns, u64 weight)
{
	return real_ns((s64)((u64)woken + (u64)allowance_ns + 1 - (u64)running), weight);
}

/* Warp that is in force: none once a task has run for `limit_ns` without sleep; 0: no limit. */
static inline s64 warp_left(s64 warp_ns, u64 limit_ns, u64 awake_ns)
{
	return limit_ns && awake_ns > limit_ns ? 0 : warp_ns;
}

/*
 * The scheduler's virtual time after a task with effective time `first` was chosen: a lower bound of
 * all that is awake, which never goes back. The chosen one comes before all others, so each has at
 * least its effective time plus the least warp that any of them has; where one of them has that
 * warp and comes next, the bound is exact.
 */
static inline s64 advanced(s64 svt, s64 first, s64 least_warp_ns)
{
	return later(svt, (s64)((u64)first + (u64)least_warp_ns));
}

/* A virtual time of one CPU in that of another: as far from its scheduler's virtual time. */
static inline s64 moved(s64 virtual_time, s64 from_svt, s64 to_svt)
{
	return (s64)((u64)virtual_time - (u64)from_svt + (u64)to_svt);
}

#endif
