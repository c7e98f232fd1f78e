/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
#define BPF_PROG(name, args...) name(args)
