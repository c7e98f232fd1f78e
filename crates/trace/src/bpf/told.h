/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What goes through the culprit's ring.
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

#endif
