/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Indexes that the verifier takes, whichever compiler made the object.
 *
 * Written in C alone, a bound lasts only until the optimiser proves it: clang 22 infers the range of
 * what `stage_bin` returns and drops `if (bin < STAGE_BINS)`, of which the verifier, who infers
 * nothing, then knows nothing ("unbounded memory access"). So every index that is no constant goes
 * through one of these two. (A loop over a constant range needs neither: the verifier goes through
 * each turn of it.) To clamp instead of to skip makes two states of one at every use, and the
 * verifier's work fourfold.
 */
#ifndef SOJOURN_BOUNDS_H
#define SOJOURN_BOUNDS_H

/* From here on the optimiser knows nothing of the variable, and computes nothing from it earlier. */
#define hide(variable) asm volatile("" : "+r"(variable))

/* Hidden before the comparison, so that it stays; and after it, so that the use stays behind it. */
static __always_inline bool is_below(u64 *index, u64 count)
{
	hide(*index);
	if (*index >= count)
		return false;
	hide(*index);
	return true;
}

/* Modulo `count`, a constant power of two. */
#define wrapped(index, count) ({						\
	_Static_assert(((count) & ((count) - 1)) == 0, "a power of two");	\
	u64 __index = (index);							\
	hide(__index);								\
	__index & ((count) - 1);						\
})

#endif
