// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * Borrowed virtual time as a sched_ext scheduler.
 *
 * A task's virtual time is the CPU time that it had, by its weight; whoever has least effective
 * virtual time runs: actual less the warp of its class. So weight says who gets how much in the long
 * run, and warp who goes first. Each CPU has a queue in that order. A task that wakes takes the CPU
 * at once if it is behind the runner by more than the allowance; if it will be soon, a timer looks
 * again then. Who sleeps comes back no further behind than the credit, so sleep saves nothing up.
 *
 * The queue of a CPU that has nothing to do is filled from the others'; and where a task is alone on
 * its CPU and two or more share another, they take turns.
 *
 * When this object's user ends, however it ends, the kernel takes all tasks back.
 *
 * Source: Duda and Cheriton, SOSP 1999; Leverich and Kozyrakis, EuroSys 2014, section 4.3.4 (L26).
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "kfuncs.h"
#include "../../../trace/src/bpf/bounds.h"
#include "arithmetic.h"
#include "shapes.h"
#include "account.h"

#define ANYWHERE -1	/* of NUMA nodes */

struct ending bvt_ending SEC(".data.bvt");

/* Of each CPU: goes off when its runner is overtaken by whoever waits. */
struct look {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct look);
} bvt_looks SEC(".maps");

/* Effective virtual time of the first in a CPU's queue; false: nobody waits. */
static __always_inline bool first_of(s32 cpu, s64 *first)
{
	struct task_struct *p;
	bool is_any = false;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		*first = (s64)p->scx.dsq_vtime;
		is_any = true;
		break;
	}
	return is_any;
}

/* `runner` has the CPU; `first`: of the queue, if there is any. */
static __always_inline void advance(struct bvt_cpu *at, s64 runner, bool is_any, s64 first)
{
	s64 least = is_any && before(first, runner) ? first : runner;

	at->svt = advanced(at->svt, least, least_warp(at));
}

static int look_again(void *map, u32 *key, struct look *look)
{
	struct bvt_cpu *at = cpu_at(*key);

	/* Whoever was chosen since was chosen from all that wait. */
	if (at->runner && at->runner == at->looked_for)
		scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	at->look_at_ns = 0;
	return 0;
}

/* `first` waits on a CPU whose runner it does not beat: look again when it will. */
static __always_inline void look_later(s32 cpu, struct bvt_cpu *at, s64 first, u64 now_ns)
{
	s64 running = at->running + cost(now_ns - at->since_ns, at->weight);
	u64 wait_ns = overtaken_ns(first, running, bvt_settings.allowance_ns, at->weight);
	u64 ran_ns = now_ns - at->began_ns, at_ns;
	struct look *look;
	u32 key = cpu;

	if (ran_ns < bvt_settings.grace_ns && wait_ns < bvt_settings.grace_ns - ran_ns)
		wait_ns = bvt_settings.grace_ns - ran_ns;
	if (now_ns + wait_ns >= at->ends_ns)
		return;	/* the slice ends sooner */
	at_ns = now_ns + wait_ns;
	if (at->looked_for == at->runner && at->look_at_ns > now_ns && at->look_at_ns <= at_ns)
		return;
	look = bpf_map_lookup_elem(&bvt_looks, &key);
	if (!look)
		return;
	at->looked_for = at->runner;
	at->look_at_ns = at_ns;
	bpf_timer_start(&look->timer, wait_ns, 0);
}

/* A task has come into the queue of a CPU: does it take the CPU from the runner? */
static __always_inline void challenge(struct bvt_task *task, s32 cpu, s64 woken)
{
	struct bvt_cpu *at = cpu_at(cpu);
	u64 now_ns = bpf_ktime_get_ns();
	s64 running = at->running + cost(now_ns - at->since_ns, at->weight);
	struct counts *counts;

	if (!preempts(woken, running, bvt_settings.allowance_ns)) {
		look_later(cpu, at, woken, now_ns);
		return;
	}
	counts = counts_of(task);
	if (counts)
		counts->preempting++;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Takes the first of another CPU's queue, if it may run here, from the next CPU on. */
static __always_inline bool take(s32 cpu, u64 load_min)
{
	u64 cpus = bvt_settings.cpus;
	int n;

	bpf_for(n, 1, MAX_CPUS) {
		u64 other = (u64)cpu + n;

		if (n >= cpus)
			break;
		if (other >= cpus)
			other -= cpus;
		if (cpu_at(other)->load < load_min || !scx_bpf_dsq_nr_queued(other))
			continue;
		if (scx_bpf_dsq_move_to_local(other))
			return true;
	}
	return false;
}

SEC("struct_ops/bvt_select_cpu")
s32 BPF_PROG(bvt_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;

	return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
}

/* A task is ready from now on. */
SEC("struct_ops/bvt_runnable")
void BPF_PROG(bvt_runnable, struct task_struct *p, u64 enq_flags)
{
	struct bvt_task *task = task_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct counts *counts;

	if (!task)
		return;
	if (task->is_counted)
		count_out(task, cpu_at(task->cpu));
	task->class = class_of(p, task);
	task->is_counted = 0;
	adopt(task, cpu);
	task->vt = place(task->vt, cpu_at(cpu)->svt, bvt_settings.credit_ns);
	task->load = task_weight(p, task);
	task->is_counted = 1;
	count_in(task, cpu_at(cpu));
	task->ready_ns = bpf_ktime_get_ns();
	if (!(enq_flags & SCX_ENQ_WAKEUP))
		return;
	task->awake_ns = 0;
	counts = counts_of(task);
	if (counts)
		counts->wakeups++;
}

SEC("struct_ops/bvt_quiescent")
void BPF_PROG(bvt_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct bvt_task *task = task_of(p);

	if (!task || !task->is_counted)
		return;
	count_out(task, cpu_at(task->cpu));
	task->is_counted = 0;
	task->ready_ns = 0;
}

SEC("struct_ops/bvt_enqueue")
void BPF_PROG(bvt_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct bvt_task *task = task_of(p);
	s32 cpu = scx_bpf_task_cpu(p), idle = -1;
	struct bvt_cpu *at = cpu_at(cpu);
	s64 woken = at->svt;

	if (task) {
		adopt(task, cpu);
		woken = task_effective(task);
	}
	insert(p, cpu, bvt_settings.allowance_ns, woken, enq_flags);
	/* One that wakes on an idle CPU was sent there. */
	if (at->runner || !(enq_flags & SCX_ENQ_WAKEUP))
		idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	else if (task && at->runner)
		challenge(task, cpu, woken);
}

/* The CPU wants somebody; `prev` has used up its slice, or was told to make room. */
SEC("struct_ops/bvt_dispatch")
void BPF_PROG(bvt_dispatch, s32 cpu, struct task_struct *prev)
{
	struct bvt_cpu *at = cpu_at(cpu);
	s64 first = 0, own;
	bool is_any = first_of(cpu, &first);
	struct bvt_task *task;
	u64 now_ns;

	if (prev && prev->scx.flags & SCX_TASK_QUEUED) {
		task = task_of(prev);
		if (task) {
			now_ns = bpf_ktime_get_ns();
			charge(prev, task, now_ns);
			own = task_effective(task);
			advance(at, own, is_any, first);
			if (!is_any && take(cpu, 2 * at->load))
				return;
			if (!is_any || !before(first, own)) {
				set_slice(prev, bvt_settings.allowance_ns);
				at->ends_ns = now_ns + bvt_settings.allowance_ns;
				return;
			}
		}
	}
	if (!is_any || !scx_bpf_dsq_move_to_local(cpu))
		take(cpu, 0);
}

SEC("struct_ops/bvt_running")
void BPF_PROG(bvt_running, struct task_struct *p)
{
	struct bvt_task *task = task_of(p);
	u64 now_ns = bpf_ktime_get_ns();
	s32 cpu = scx_bpf_task_cpu(p);
	struct bvt_cpu *at = cpu_at(cpu);
	struct counts *counts;
	s64 first = 0;
	bool is_any;

	if (!task)
		return;
	adopt(task, cpu);
	task->charged_ns = p->se.sum_exec_runtime;
	counts = counts_of(task);
	if (counts) {
		counts->dispatches++;
		if (task->ready_ns && task->ready_ns < now_ns)
			counts->wait_ns += now_ns - task->ready_ns;
	}
	task->ready_ns = 0;
	at->running = task_effective(task);
	at->since_ns = now_ns;
	at->began_ns = now_ns;
	at->ends_ns = now_ns + bvt_settings.allowance_ns;
	at->weight = task_weight(p, task);
	at->runner = p->pid;
	is_any = first_of(cpu, &first);
	advance(at, at->running, is_any, first);
	if (is_any)
		look_later(cpu, at, first, now_ns);
}

SEC("struct_ops/bvt_stopping")
void BPF_PROG(bvt_stopping, struct task_struct *p, bool runnable)
{
	struct bvt_task *task = task_of(p);
	struct counts *counts;
	u64 now_ns;

	if (!task)
		return;
	now_ns = bpf_ktime_get_ns();
	charge(p, task, now_ns);
	cpu_at(task->cpu)->runner = 0;
	if (!runnable)
		return;
	task->ready_ns = now_ns;
	counts = counts_of(task);
	if (counts)
		counts->preempted++;
}

SEC("struct_ops.s/bvt_init_task")
s32 BPF_PROG(bvt_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct bvt_task *task, *parent;

	task = bpf_task_storage_get(&bvt_tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!task)
		return -12;	/* no memory */
	task->cpu = -1;
	task->class = 0;
	task->given = 0;
	if (!args->fork)
		return 0;
	parent = bpf_task_storage_get(&bvt_tasks, bpf_get_current_task_btf(), 0, 0);
	if (parent)
		task->given = parent->given;
	return 0;
}

SEC("struct_ops.s/bvt_init")
s32 BPF_PROG(bvt_init)
{
	int cpu;

	bpf_for(cpu, 0, MAX_CPUS) {
		u32 key = cpu;
		struct look *look;
		s32 failed;

		if (cpu >= bvt_settings.cpus)
			break;
		failed = scx_bpf_create_dsq(cpu, ANYWHERE);
		if (failed)
			return failed;
		look = bpf_map_lookup_elem(&bvt_looks, &key);
		if (!look)
			continue;
		failed = bpf_timer_init(&look->timer, &bvt_looks, CLOCK_MONOTONIC);
		if (!failed)
			failed = bpf_timer_set_callback(&look->timer, look_again);
		if (failed)
			return failed;
	}
	return 0;
}

SEC("struct_ops/bvt_exit")
void BPF_PROG(bvt_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(bvt_ending.reason, TEXT_BYTES, info->reason);
	bpf_probe_read_kernel_str(bvt_ending.message, TEXT_BYTES, info->msg);
	bvt_ending.code = info->exit_code;
	bvt_ending.kind = info->kind;
}

SEC(".struct_ops.link")
struct sched_ext_ops bvt_ops = {
	.select_cpu = (void *)bvt_select_cpu,
	.enqueue = (void *)bvt_enqueue,
	.dispatch = (void *)bvt_dispatch,
	.runnable = (void *)bvt_runnable,
	.running = (void *)bvt_running,
	.stopping = (void *)bvt_stopping,
	.quiescent = (void *)bvt_quiescent,
	.init_task = (void *)bvt_init_task,
	.init = (void *)bvt_init,
	.exit = (void *)bvt_exit,
	.name = "sojourn_bvt",
};

char licence[] SEC("license") = "Dual BSD/GPL";
