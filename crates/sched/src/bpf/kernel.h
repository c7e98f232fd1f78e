/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The few types and fields of the kernel that the scheduler uses. Offsets are put right when the
 * object is loaded (CO-RE), so one object serves every kernel with sched_ext from 6.13 on.
 */
#ifndef SOJOURN_SCHED_KERNEL_H
#define SOJOURN_SCHED_KERNEL_H

#include "../../../trace/src/bpf/types.h"

#define CLOCK_MONOTONIC 1

/* Of the kernel's include/linux/sched/ext.h and kernel/sched/ext_internal.h. */
#define SCX_TASK_QUEUED 1
#define SCX_ENQ_WAKEUP 1
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2

/* Held in maps and on the stack: of the size that the kernel says. */
struct bpf_timer {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	__u64 __opaque[6];
} __attribute__((aligned(8)));

struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	u64 sum_exec_runtime;	/* CPU time it has had, ns */
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;		/* of its nice value; 100 is the usual */
	u64 slice;		/* left, ns */
	u64 dsq_vtime;
};

struct cpumask {
	unsigned long bits[1];	/* as many as there are CPUs; never looked at here */
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	int pid;
	int tgid;
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct sched_ext_entity scx;
	struct css_set *cgroups;
};

struct scx_init_task_args {
	bool fork;
};

enum scx_exit_kind {
	SCX_EXIT_NONE = 0,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

/* What of the kernel's struct is filled in; libbpf finds members by their names. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	char name[128];
};

#endif
