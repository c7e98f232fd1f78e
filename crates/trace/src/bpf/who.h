/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Who ran: what is kept per CPU and per task, for user space to read.
 */
#ifndef SOJOURN_WHO_H
#define SOJOURN_WHO_H

struct who_cpu {
	u32 tid;		/* task that runs here, if is_known */
	u32 is_known;
	u64 in_ns;		/* since when; before the start if it ran already */
	u64 idle_ns;
	u64 left_out_ns;
	u64 dropped_ns;		/* of tasks for which the table had no room ... */
	u64 dropped_runs;	/* ... and how many runs that were */
	u64 unseen_ns;		/* a switch was not told: whose time it was is not known */
} __attribute__((aligned(64)));

struct who_task {
	u64 runs;
	u64 run_ns;
	u64 long_runs;
	u64 long_ns;
	u64 longest_ns;
	u32 pid;
	u32 is_kernel;
	char name[16];
};

#endif
