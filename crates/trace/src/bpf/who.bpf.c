// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * Who runs on some CPUs, and how long at a time, ns.
 *
 * A run lasts from the switch to a task until the switch away from it. Included: every task but those
 * left out, whose time is summed apart. Not included: interrupts and softIRQ, which count for the task
 * they strike, and what the hypervisor takes. Every moment of a CPU goes to exactly one of: a task,
 * idle, left out, dropped, unseen. Per CPU one writer; a task is on one CPU at a time.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bounds.h"
#include "who.h"

#define MAX_CPUS 1024
#define PF_KTHREAD 0x00200000

/* Fixed when the object is loaded. */
struct who_settings {
	u64 cpus[MAX_CPUS / 64];	/* bit per CPU that is looked at */
	u64 long_ns;			/* a run longer than this is a long one */
	u64 pid_ns;			/* whose numbers are meant: see pids.h */
};

/* Written by user space: when the look began and ended, ns; 0: not yet. */
struct who_control {
	u64 started_ns;
	u64 ended_ns;
};

const volatile struct who_settings who_settings SEC(".rodata.who");
struct who_control who_control SEC(".data.who");
struct who_cpu who_cpus[MAX_CPUS] SEC(".bss.who");

static __always_inline u32 pid_ns(void)
{
	return who_settings.pid_ns;
}

#include "pids.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* thread id -> its runs */
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct who_task);
} who_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* processes left out */
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} who_left_out SEC(".maps");

static __always_inline struct who_cpu *watched_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (!(who_settings.cpus[wrapped(cpu >> 6, MAX_CPUS / 64)] >> (cpu & 63) & 1))
		return 0;
	return &who_cpus[wrapped(cpu, MAX_CPUS)];
}

/* Time since the last switch here that is known, as far as it lies within the look, ns; 0 before its start. What has
 * run since before the first switch has run since the start. */
static __always_inline u64 passed(const struct who_cpu *cpu, u64 started_ns, u64 now_ns)
{
	u64 from_ns = cpu->in_ns > started_ns ? cpu->in_ns : started_ns;

	return started_ns && now_ns > from_ns ? now_ns - from_ns : 0;
}

/* The entry of a task; made if there is none and the table has room. */
static __always_inline struct who_task *entry_of(struct task_struct *task, u32 tid)
{
	struct who_task *entry = bpf_map_lookup_elem(&who_tasks, &tid), fresh = {};

	if (entry)
		return entry;
	fresh.pid = tgid_of(task);
	fresh.is_kernel = !!(task->flags & PF_KTHREAD);
	bpf_probe_read_kernel(fresh.name, sizeof(fresh.name), &task->comm);
	bpf_map_update_elem(&who_tasks, &tid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&who_tasks, &tid);
}

/* A run of `task` ends. */
static __always_inline void book(struct who_cpu *cpu, struct task_struct *task, u64 run_ns)
{
	u32 tid = tid_of(task), tgid;
	struct who_task *entry;

	if (!tid) {
		cpu->idle_ns += run_ns;
		return;
	}
	tgid = tgid_of(task);
	if (bpf_map_lookup_elem(&who_left_out, &tgid)) {
		cpu->left_out_ns += run_ns;
		return;
	}
	entry = entry_of(task, tid);
	if (!entry) {
		cpu->dropped_ns += run_ns;
		cpu->dropped_runs++;
		return;
	}
	entry->runs++;
	entry->run_ns += run_ns;
	if (run_ns > entry->longest_ns)
		entry->longest_ns = run_ns;
	if (run_ns > who_settings.long_ns) {
		entry->long_runs++;
		entry->long_ns += run_ns;
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(who_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u64 now_ns, started_ns = who_control.started_ns;
	struct who_cpu *cpu = watched_cpu();

	if (!cpu || who_control.ended_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (started_ns && now_ns > started_ns) {
		if (cpu->is_known && cpu->tid != tid_of(prev))
			cpu->unseen_ns += passed(cpu, started_ns, now_ns);
		else
			book(cpu, prev, passed(cpu, started_ns, now_ns));
	}
	cpu->tid = tid_of(next);
	cpu->in_ns = now_ns;
	cpu->is_known = 1;
	return 0;
}

/* A task that is never switched away from is known only because it is seen there. Another one than the last switch
 * said: the kernel left a switch out, which the next one would show only when this one has ended. Whoever runs there
 * once the look is over did not need to be there before. */
static __always_inline int look_here(void)
{
	struct who_cpu *cpu = watched_cpu();
	u64 now_ns;
	u32 tid;

	if (!cpu || who_control.ended_ns)
		return 0;
	tid = tid_here();
	if (cpu->is_known && cpu->tid == tid)
		return 0;
	if (cpu->is_known) {
		now_ns = bpf_ktime_get_ns();
		cpu->unseen_ns += passed(cpu, who_control.started_ns, now_ns);
		cpu->in_ns = now_ns;
	}
	cpu->tid = tid;
	cpu->is_known = 1;
	return 0;
}

SEC("perf_event")
int who_sample(void *ctx)
{
	return look_here();
}

/* Not attached: user space runs it on each CPU at the start and at the end. A switch that the kernel left out just
 * before would else give the time up to there to the wrong task, because no sample comes in between. */
SEC("raw_tp")
int who_edge(void *ctx)
{
	return look_here();
}

char licence[] SEC("license") = "Dual BSD/GPL";
