/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Bins of totals: `TOTAL` of `src/reconstruct/bins.rs`. */
#ifndef SOJOURN_TOTALS_H
#define SOJOURN_TOTALS_H

#define TOTAL_SUB 7
#define TOTAL_BINS ((36 - TOTAL_SUB) * 128 + 128)	/* up to 2^36 ns = 69 s, then saturates */

#endif
