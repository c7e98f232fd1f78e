/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What the scheduler and user space share: settings, counts, how it ended. All words are 64 bits, in
 * the order in which src/shapes.rs has them; what that side writes and reads must be as large.
 */
#ifndef SOJOURN_SHAPES_H
#define SOJOURN_SHAPES_H

#define MAX_CPUS 1024
#define MAX_CLASSES 16		/* the first is that of everybody who is in no other */
#define TEXT_BYTES 256

/* What tasks of a class were granted. */
struct terms {
	u64 weight;		/* 1024 is the standard */
	s64 warp_ns;		/* virtual time that may be borrowed */
	u64 limit_ns;		/* time without sleep after which no more is lent; 0: none */
};

/* Fixed when the object is loaded. */
struct settings {
	u64 cpus;		/* their numbers are below this */
	u64 classes;		/* used of the table */
	u64 allowance_ns;	/* how far a runner may get ahead of another: also the slice */
	u64 grace_ns;		/* a runner is left alone for so long, unless who wakes beats it */
	u64 credit_ns;		/* how far behind the others who slept may come back */
	u64 has_groups;		/* whether any class is told by control groups */
	struct terms terms[MAX_CLASSES];
};

/* Of one class on one CPU. */
struct counts {
	u64 run_ns;		/* CPU time */
	u64 dispatches;		/* times that one of them got a CPU */
	u64 wakeups;
	u64 preempting;		/* times that one of them, waking, took a CPU from another */
	u64 preempted;		/* times that one of them lost its CPU and wanted to go on */
	u64 wait_ns;		/* time that they were ready and had no CPU */
};

/* Why the kernel has ended it. */
struct ending {
	u64 kind;		/* enum scx_exit_kind; 0: it goes on */
	s64 code;
	char reason[TEXT_BYTES];
	char message[TEXT_BYTES];
};

#endif
