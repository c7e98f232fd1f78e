/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What goes through the culprit's ring, and what both sides tell each other beside it.
 */
#ifndef SOJOURN_TOLD_H
#define SOJOURN_TOLD_H

#define NAME_BYTES 40

/* One thing that was seen. What does not belong to its kind is 0. */
struct told {
	u32 kind;
	u32 cpu;
	u32 tid;		/* who ran, was off its CPU, or was interrupted */
	u32 tgid;
	u64 from_ns;
	u64 to_ns;
	u64 woken_ns;		/* off: until then it slept. Interrupts: time in them */
	u64 here_ns;		/* off: from then on it waited for this CPU, and before for another one */
	u32 what;		/* run: RUN_IS_; off: enum off_kind; interrupt: vector */
	s32 call;		/* off: system call, -1: none (page fault). HARD_IRQ: its number */
	s32 kernel_stack;	/* -1: none */
	s32 user_stack;
	u32 waker_tid;
	u32 waker_tgid;
	u32 waker_is_irq;	/* an interrupt woke it: the waker is whoever was struck */
	u32 mode;		/* of the file: inode's i_mode; 0: none */
	u64 argument;		/* first one of the system call */
	u32 device;		/* of the file: s_dev */
	u32 is_idle;		/* asleep in epoll_wait or its like */
	char comm[16];		/* who ran; the waker */
	char name[NAME_BYTES];	/* control group of who ran; the file */
};

/* Written by user space while no hook looks. */
struct culprit_control {
	u64 is_enabled;		/* the hooks do nothing while this is not set */
	u64 epoch;		/* number of the window, from 1; a trace without windows is one */
	u64 began_ns;		/* the hooks look since then */
};

/* Written by the hooks; atomic. */
struct culprit_counts {
	u64 told;
	u64 ring_full;		/* not told for lack of room */
	u64 history_full;	/* waits that began before the oldest run remembered */
	u64 stacks_lost;
	u64 threads_n;		/* slots given out; the first is 1 */
	u64 waiting;		/* threads of the service that are runnable and not running; of the window */
};

#endif
