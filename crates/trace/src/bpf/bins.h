/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* The bin of a time, without a branch. `src/reconstruct/bins.rs` mirrors it. */
#ifndef SOJOURN_BINS_H
#define SOJOURN_BINS_H

/* All ones if v is above `most`, else zeros; both below 2^63. Hidden, or clang 22 makes a comparison of it, and
 * the verifier goes both ways at each. */
static __always_inline u64 if_above(u64 v, u64 most)
{
	s64 room = most - v;

	hide(room);
	return room >> 63;
}

/* Rounded down; v is from 1 to 2^63 - 1. Without a branch, so that the verifier has one way through it and
 * it need not be a function of its own: a call costs 7 to 10 ns where returns are guarded (retbleed, SRSO),
 * and every request asks some fifteen times. */
static __always_inline u64 log2_of(u64 v)
{
	u64 log2 = 0, up;

#pragma clang loop unroll(full)
	for (u32 bits = 32; bits; bits /= 2) {
		up = if_above(v, (1ULL << bits) - 1) & bits;
		v >>= up;
		log2 |= up;
	}
	return log2;
}

/* Log-linear: 2^sub bins per octave, linear below; what is beyond the last bin is in it. */
static __always_inline u64 bin_of(u64 v, u32 sub, u64 bins)
{
	u64 octave = log2_of(v | 1 << sub) - sub;
	u64 bin = (octave << sub) + (v >> octave);
	u64 over = if_above(bin, bins - 1);

	return (bin & ~over) | ((bins - 1) & over);
}

#endif
