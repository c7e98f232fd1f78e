/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Nothing is put right at load time here: the fields are where `kernel.h` has them. */
