/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What both sides agree on, and what is kept per CPU and per thread: who ran, and how the service's
 * threads went off their CPU. `src/culprit/decode.rs` mirrors the numbers.
 */
#ifndef SOJOURN_CULPRIT_H
#define SOJOURN_CULPRIT_H

#include "told.h"

#define MAX_CPUS 1024
#define MAX_THREADS 1024	/* slot 0 means "none" */
#define MAX_SYSCALL 512
#define OTHER_ABI 560		/* numbers of calls of another ABI: see compat.h */
#define HISTORY 64		/* runs remembered per CPU; power of 2 */
#define VECTORS 16		/* softIRQ vectors, and HARD_IRQ */
#define HARD_IRQ 10
#define STACKS 8192
#define STACK_DEPTH 64
#define BPF_F_USER_STACK (1 << 8)

#define PF_KTHREAD 0x00200000
#define EARLY_NS 100000		/* a waker may strike so long before its thread is off the CPU */
#define SERVED_NS 1000000000ULL	/* interrupts are reported of CPUs that served within this time */
#define SPREAD_NS 10000000	/* short interrupts are summed over at most this time */

enum told_kind { TOLD_RUN, TOLD_OFF, TOLD_IRQ };
enum off_kind { OFF_NONE, OFF_PREEMPTED, OFF_ASLEEP, OFF_STOPPED };
enum call_class { CALL_OTHER, CALL_IDLE /* epoll_wait and its like */, CALL_HAS_FILE };

#define RUN_IS_KERNEL 1
#define RUN_IS_OWN 2

struct run {
	u64 from_ns;
	u64 to_ns;
	u32 tid;
	u32 tgid;
	u32 flags;
	u32 is_told;
	char comm[16];
	char group[NAME_BYTES];
};

struct irq_sum {
	u64 from_ns;
	u64 to_ns;
	u64 ns;
	u32 tid;
	u32 number;
};

/* Written only by hooks on this CPU. */
struct culprit_cpu {
	u32 tid;		/* task that runs here, if is_known */
	u32 slot;
	u32 is_known;
	u32 runs_n;
	u64 in_ns;		/* since when */
	u64 served_ns;		/* a thread of the service came or went here */
	u64 softirq_ns;		/* a softIRQ is served since then; 0: none */
	u64 irq_ns;
	u64 nested_ns;		/* interrupts inside that softIRQ */
	u64 dropped_ns;		/* end of the last run that was forgotten untold */
	u64 epoch;		/* window in which all this is true */
	struct irq_sum sums[VECTORS];
	struct run runs[HISTORY];
} __attribute__((aligned(64)));

/* Written by the CPU that switches the thread; woken_ns and the waker by whoever wakes it, moved_ns by whoever takes it
 * to another CPU. */
struct culprit_thread {
	u32 tid;
	u32 tgid;
	u32 off_kind;
	u32 is_idle;
	s32 call;
	s32 kernel_stack;
	s32 user_stack;
	u32 has_file;
	u64 argument;
	u64 off_ns;		/* 0: on a CPU */
	u64 woken_ns;
	u64 early_ns;		/* a wake-up while it still ran */
	u64 moved_ns;		/* the last time that it was taken to another CPU while it waited for one */
	u64 stack_ns;		/* its last stack was taken then */
	u32 waker_tid;
	u32 waker_tgid;
	u32 waker_is_irq;
	u32 is_waiting;		/* runnable, not running, and counted in `waiting` */
	u32 was_seen;		/* a switch of it, or a wake-up, in this window */
	u32 left_cpu;		/* it was switched away from there */
	u64 epoch;		/* window in which all this is true */
	char waker[16];
};

/* Fixed when the object is loaded. */
struct culprit_settings {
	u64 floor_ns;		/* shorter waits and sleeps are not told */
	u64 irq_ns;		/* time in interrupts is told in pieces of this */
	u64 stack_gap_ns;	/* of a thread: at least so long between two stacks */
	u64 run_ns;		/* a shorter run is not remembered */
	u64 group_ns;		/* of a shorter run the control group is not read */
	u64 idle_ns;		/* sleeps in epoll_wait and its like of this length or more are reported, too,
				 * without the thread that ended them; 0: none is */
	u8 call_class[MAX_SYSCALL];
	u16 native[OTHER_ABI];
	u32 pid_ns;		/* whose numbers are meant: see pids.h */
};

const volatile struct culprit_settings culprit_settings SEC(".rodata.culprit");
struct culprit_control culprit_control SEC(".data.culprit");
struct culprit_counts culprit_counts SEC(".bss.culprit");

static __always_inline u32 pid_ns(void)
{
	return culprit_settings.pid_ns;
}

struct culprit_cpu culprit_cpus[MAX_CPUS];
struct culprit_thread culprit_threads[MAX_THREADS];

#include "tgids.h"	/* the breakdown's own map */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} culprit_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACK_DEPTH * sizeof(u64));
} culprit_stacks SEC(".maps");

/* Kernel types that only these hooks read; found by name, whatever stands after `___`. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct kernfs_node {
	const char *name;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct task_struct___more {
	struct css_set *cgroups;
	struct files_struct *files;
};

struct pt_regs___call {
#if defined(__TARGET_ARCH_x86)
	unsigned long orig_ax;
	unsigned long di;
#else
	u64 orig_x0;
	int syscallno;
#endif
};

#pragma clang attribute pop

struct irqaction;

enum cgroup_subsys_id { cpu_cgrp_id = 1 };	/* the running kernel's number is put in at load */

#endif
