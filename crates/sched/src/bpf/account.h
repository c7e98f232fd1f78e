/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What is known of tasks and CPUs, and how it is kept: virtual times, who is counted where, classes.
 *
 * Each CPU has a virtual time of its own, as tasks that are bound to one CPU have nothing to do with
 * those of another. A task that moves takes its distance from it along. All of a task is written
 * under the lock of the run queue that it is on, as is all of a CPU but its counts, which a CPU that
 * takes a task away changes too: those are added to atomically.
 */
#ifndef SOJOURN_ACCOUNT_H
#define SOJOURN_ACCOUNT_H

struct bvt_task {
	s64 vt;			/* actual virtual time, in that of `cpu` */
	u64 charged_ns;		/* CPU time that is part of it */
	u64 awake_ns;		/* CPU time since it woke */
	u64 ready_ns;		/* since when it has waited for a CPU; 0: it does not */
	u64 load;		/* weight with which it is counted */
	s32 cpu;		/* -1: it was never ready */
	u32 class;
	u32 given;		/* class by its number, or by whoever started it */
	u32 is_counted;
};

struct bvt_cpu {
	s64 svt;		/* no task that is ready here has less virtual time */
	s64 running;		/* effective virtual time of the runner at `since_ns` */
	u64 since_ns;
	u64 began_ns;		/* when the runner was chosen */
	u64 ends_ns;		/* when its slice does; it may be given several in a row */
	u64 weight;		/* of the runner */
	u64 look_at_ns;		/* when the timer goes off */
	u64 load;		/* weights of all that are ready here */
	u32 runner;		/* thread; 0: none of ours */
	u32 looked_for;		/* runner for which the timer was set */
	u32 ready[MAX_CLASSES];	/* tasks that are ready here */
};

const volatile struct settings bvt_settings SEC(".rodata.bvt");
struct bvt_cpu bvt_cpus[MAX_CPUS] SEC(".bss.bvt");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bvt_task);
} bvt_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);	/* class -> its counts; one writer per CPU */
	__uint(max_entries, MAX_CLASSES);
	__type(key, u32);
	__type(value, struct counts);
} bvt_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* thread or process -> class */
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u32);
} bvt_by_pid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* control group of version 2 -> class */
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, u32);
} bvt_by_group SEC(".maps");

static __always_inline struct bvt_task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&bvt_tasks, p, 0, 0);
}

static __always_inline struct bvt_cpu *cpu_at(s32 cpu)
{
	return &bvt_cpus[wrapped(cpu, MAX_CPUS)];
}

static __always_inline struct counts *counts_of(struct bvt_task *task)
{
	u32 class = task->class;

	return bpf_map_lookup_elem(&bvt_counts, &class);
}

static __always_inline const volatile struct terms *terms_of(struct bvt_task *task)
{
	return &bvt_settings.terms[wrapped(task->class, MAX_CLASSES)];
}

static __always_inline u64 task_weight(struct task_struct *p, struct bvt_task *task)
{
	return weight_of(terms_of(task)->weight, p->scx.weight);
}

static __always_inline s64 task_effective(struct bvt_task *task)
{
	const volatile struct terms *terms = terms_of(task);

	return effective(task->vt, warp_left(terms->warp_ns, terms->limit_ns, task->awake_ns));
}

static __always_inline void count_in(struct bvt_task *task, struct bvt_cpu *at)
{
	__sync_fetch_and_add(&at->ready[wrapped(task->class, MAX_CLASSES)], 1);
	__sync_fetch_and_add(&at->load, task->load);
}

static __always_inline void count_out(struct bvt_task *task, struct bvt_cpu *at)
{
	__sync_fetch_and_add(&at->ready[wrapped(task->class, MAX_CLASSES)], -1);
	__sync_fetch_and_add(&at->load, -task->load);
}

/* From here on the task belongs to `cpu`. */
static __always_inline void adopt(struct bvt_task *task, s32 cpu)
{
	struct bvt_cpu *to = cpu_at(cpu);

	if (task->cpu == cpu)
		return;
	if (task->cpu < 0) {
		task->vt = to->svt;
	} else {
		struct bvt_cpu *from = cpu_at(task->cpu);

		task->vt = moved(task->vt, from->svt, to->svt);
		if (task->is_counted) {
			count_out(task, from);
			count_in(task, to);
		}
	}
	task->cpu = cpu;
}

/* Least warp of all that are ready here. */
static __always_inline s64 least_warp(struct bvt_cpu *at)
{
	s64 least = 0;
	bool is_any = false;
	int class;

	bpf_for(class, 0, MAX_CLASSES) {
		s64 warp_ns = bvt_settings.terms[wrapped(class, MAX_CLASSES)].warp_ns;

		/* Whoever has used up its limit has none; nobody asks who that is. */
		if (bvt_settings.terms[wrapped(class, MAX_CLASSES)].limit_ns)
			warp_ns = 0;
		if (class >= bvt_settings.classes || !at->ready[wrapped(class, MAX_CLASSES)])
			continue;
		if (!is_any || warp_ns < least)
			least = warp_ns;
		is_any = true;
	}
	return least;
}

/* What a running task has used since it was charged last goes into its virtual time. */
static __always_inline void charge(struct task_struct *p, struct bvt_task *task, u64 now_ns)
{
	struct bvt_cpu *at = cpu_at(task->cpu);
	struct counts *counts = counts_of(task);
	u64 used_ns = p->se.sum_exec_runtime, ran_ns = used_ns - task->charged_ns;
	u64 weight = task_weight(p, task);

	task->charged_ns = used_ns;
	task->awake_ns += ran_ns;
	task->vt += cost(ran_ns, weight);
	if (counts)
		counts->run_ns += ran_ns;
	if (at->runner != p->pid)
		return;
	at->running = task_effective(task);
	at->since_ns = now_ns;
	at->weight = weight;
}

/* The class of a task: by its number, by its process's, by its group's, by who started it. */
static __always_inline u32 class_of(struct task_struct *p, struct bvt_task *task)
{
	u32 pid = p->pid, tgid = p->tgid, *class;

	class = bpf_map_lookup_elem(&bvt_by_pid, &pid);
	if (!class)
		class = bpf_map_lookup_elem(&bvt_by_pid, &tgid);
	if (class) {
		task->given = *class;
		return *class;
	}
	if (bvt_settings.has_groups) {
		u64 group = p->cgroups->dfl_cgrp->kn->id;

		class = bpf_map_lookup_elem(&bvt_by_group, &group);
		if (class)
			return *class;
	}
	return task->given;
}

#endif
