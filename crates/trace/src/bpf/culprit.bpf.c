// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * Who ran while a thread of the service waited for its CPU, what it slept on, and which interrupts
 * struck it, ns.
 *
 * Told through a ring: waits and sleeps of the service's threads from floor_ns on; with a wait, the
 * runs of whoever had the CPU meanwhile, each once; time in interrupts in pieces of irq_ns. Not told:
 * a sleep in epoll_wait and its like, which is idleness, but for the wait for a CPU after it; and who had
 * a CPU that a thread waited for first and was taken away from. Not included in interrupts: the CPU's own
 * timer, which has no such tracepoint. Per CPU one writer.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bounds.h"
#include "culprit.h"
#include "pids.h"
#include "compat.h"
#include "culprit_tell.h"
#include "slots.h"

/* Slot of a thread of the service, 0 if it is none. User space has slots used anew by and by: see `recycle`. */
static __noinline int slot_for(u32 tid, struct task_struct *task)
{
	u32 slot = entered_of(*place_at(tid), tid), tgid;

	if (slot)
		return slot;
	tgid = tgid_of(task);
	if (!bpf_map_lookup_elem(&tgids, &tgid))
		return 0;
	slot = slot_further(tid);
	if (slot)
		return slot;
	slot = new_slot(tid, &culprit_counts.threads_n, true);
	if (!slot)
		return 0;
	forget_thread(thread_at(slot));
	thread_at(slot)->was_seen = 1;	/* no wake-up of it could be seen so far: nothing follows from that */
	thread_at(slot)->tgid = tgid;
	thread_at(slot)->tid = tid;
	return slot;
}

/* The control group's own name, empty for the root: of version 2, or of version 1's cpu controller
 * where the task is in the root of version 2. */
static __noinline int group_of(struct task_struct *task, char *name)
{
	struct task_struct___more *more = (void *)task;
	struct css_set *set = BPF_CORE_READ(more, cgroups);
	struct cgroup *group = BPF_CORE_READ(set, dfl_cgrp);
	struct cgroup_subsys_state *state;

	if (BPF_CORE_READ(group, level) <= 0 && bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id)) {
		u64 at = bpf_core_field_offset(struct css_set, subsys);

		at += bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(void *);
		if (!bpf_probe_read_kernel(&state, sizeof(state), (void *)set + at))
			group = BPF_CORE_READ(state, cgroup);
	}
	bpf_probe_read_kernel_str(name, NAME_BYTES, BPF_CORE_READ(group, kn, name));
	return 0;
}

static __noinline int tell_run(struct run *run)
{
	struct told *told = tell(TOLD_RUN);

	run->is_told = 1;
	if (!told)
		return 0;
	told->tid = run->tid;
	told->tgid = run->tgid;
	told->from_ns = run->from_ns;
	told->to_ns = run->to_ns;
	told->what = run->flags;
	__builtin_memcpy(told->comm, run->comm, sizeof(told->comm));
	__builtin_memcpy(told->name, run->group, sizeof(told->name));
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The run of `task` on this CPU ends. What it takes the place of is told first if a thread of the
 * service waits somewhere and none has been here since: it may have to wait for more than HISTORY. */
static __always_inline void remember(struct culprit_cpu *cpu, struct task_struct *task, u32 slot, u64 now_ns)
{
	struct run *run;

	if (now_ns < cpu->in_ns + culprit_settings.run_ns)
		return;
	run = &cpu->runs[wrapped(cpu->runs_n, HISTORY)];
	if (run->to_ns && !run->is_told) {
		if ((s64)culprit_counts.waiting > 0 && run->to_ns > cpu->served_ns)
			tell_run(run);
		else
			cpu->dropped_ns = run->to_ns;
	}
	run->from_ns = cpu->in_ns;
	run->to_ns = now_ns;
	run->tid = tid_of(task);
	run->tgid = tgid_of(task);
	run->flags = (task->flags & PF_KTHREAD ? RUN_IS_KERNEL : 0) | (slot ? RUN_IS_OWN : 0);
	run->is_told = 0;
	bpf_probe_read_kernel(run->comm, sizeof(run->comm), &task->comm);
	run->group[0] = 0;
	if (!slot && now_ns - cpu->in_ns >= culprit_settings.group_ns)
		group_of(task, run->group);
	cpu->runs_n++;
}

/* Tells all runs here that ended after `since_ns` and have not been told. */
static __noinline int tell_runs(struct culprit_cpu *cpu, u64 since_ns)
{
	u32 n = cpu->runs_n;

	for (u32 i = 1; i <= HISTORY; i++) {
		struct run *run = &cpu->runs[wrapped(n - i, HISTORY)];

		if (i > n || run->to_ns <= since_ns)
			return 0;
		if (!run->is_told)
			tell_run(run);
	}
	if (cpu->dropped_ns > since_ns)
		__sync_fetch_and_add(&culprit_counts.history_full, 1);
	return 0;
}

static __always_inline void begins_to_wait(struct culprit_thread *t)
{
	t->is_waiting = 1;
	__sync_fetch_and_add(&culprit_counts.waiting, 1);
}

/* The call is one of another ABI: its number as the kernel's own, and where its first argument is. */
static __always_inline void read_foreign_call(struct culprit_thread *t, struct pt_regs *regs)
{
	long call = t->call;

	t->call = native_of(culprit_settings.native, regs, call);
#if defined(__TARGET_ARCH_x86)
	if (call == SOCKETCALL)
		t->argument = ~0ULL;	/* in the process's memory */
	else if (!(call & X32_BIT))
		t->argument = (u32)regs->bx;
#endif
}

static __always_inline void read_call(struct culprit_thread *t, struct task_struct *task)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);
	u64 call;

#if defined(__TARGET_ARCH_x86)
	t->call = regs->orig_ax;
	t->argument = regs->di;
#else
	t->call = regs->syscallno;
	t->argument = regs->orig_x0;
#endif
	if (t->call >= 0 && is_foreign(task, t->call))
		read_foreign_call(t, (struct pt_regs *)regs);
	call = (u32)t->call;
	t->is_idle = 0;
	t->has_file = 0;
	if (is_below(&call, MAX_SYSCALL)) {
		t->is_idle = culprit_settings.call_class[call] == CALL_IDLE;
		t->has_file = culprit_settings.call_class[call] == CALL_HAS_FILE;
	}
}

/* A thread of the service leaves its CPU; it is still the current task. */
static __always_inline void leaves(void *ctx, struct culprit_thread *t, struct task_struct *task, bool preempt,
				   u64 now_ns)
{
	u32 state = task->__state;

	t->was_seen = 1;
	t->woken_ns = 0;
	t->kernel_stack = -1;
	t->user_stack = -1;
	t->is_idle = 0;
	t->has_file = 0;
	t->call = -1;
	if (t->early_ns + EARLY_NS < now_ns)
		t->waker_tid = 0;
	if (preempt || state == TASK_RUNNING) {
		t->off_kind = OFF_PREEMPTED;
		begins_to_wait(t);
	} else if (state & TASK_STOPPED_OR_TRACED) {
		t->off_kind = OFF_STOPPED;
	} else {
		t->off_kind = OFF_ASLEEP;
		read_call(t, task);
		if (!t->is_idle && now_ns >= t->stack_ns + culprit_settings.stack_gap_ns) {
			t->stack_ns = now_ns;
			t->kernel_stack = bpf_get_stackid(ctx, &culprit_stacks, 0);
			t->user_stack = bpf_get_stackid(ctx, &culprit_stacks, BPF_F_USER_STACK);
			if (t->kernel_stack < 0)
				__sync_fetch_and_add(&culprit_counts.stacks_lost, 1);
		}
	}
	t->left_cpu = bpf_get_smp_processor_id();
	t->off_ns = now_ns;
}

/* The file whose number is the first argument of the call that `task` sleeps in. */
static __always_inline void read_file(struct told *told, struct task_struct *task, u64 number)
{
	struct task_struct___more *more = (void *)task;
	struct fdtable *table = BPF_CORE_READ(more, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = 0;

	if (number >= BPF_CORE_READ(table, max_fds))
		return;
	bpf_probe_read_kernel(&file, sizeof(file), &files[number]);
	if (!file)
		return;
	told->mode = BPF_CORE_READ(file, f_inode, i_mode);
	told->device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	bpf_probe_read_kernel_str(told->name, sizeof(told->name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

/* It comes to a CPU, and the window has seen neither its sleep nor a wake-up: it was runnable all the
 * time. */
static __always_inline void waited_before(struct culprit_thread *t, struct task_struct *task)
{
	if (t->was_seen || t->early_ns || task->start_time > culprit_control.began_ns)
		return;
	t->off_ns = culprit_control.began_ns;
	t->off_kind = OFF_PREEMPTED;
	t->left_cpu = bpf_get_smp_processor_id();
}

/* It is woken, and the window has not seen it go to sleep: it slept since before. */
static __always_inline void slept_before(struct culprit_thread *t, struct task_struct *task)
{
	u32 state = task->__state;

	if (t->was_seen || task->on_cpu || task->start_time > culprit_control.began_ns)
		return;
	t->was_seen = 1;
	t->off_ns = culprit_control.began_ns;
	t->off_kind = state & TASK_STOPPED_OR_TRACED ? OFF_STOPPED : OFF_ASLEEP;
	if (t->off_kind == OFF_ASLEEP)
		read_call(t, task);
}

/* Since when a thread that was runnable from `woken_ns` on has waited for this CPU, to which it comes now. One that was
 * switched away from another CPU, and was not seen to be moved, may have come at any time since. */
static __always_inline u64 here_since(const struct culprit_thread *t, u64 woken_ns, u64 now_ns)
{
	u64 moved_ns = t->moved_ns;

	if (moved_ns > woken_ns)
		return moved_ns < now_ns ? moved_ns : now_ns;
	if (t->off_kind == OFF_PREEMPTED && t->left_cpu != bpf_get_smp_processor_id())
		return now_ns;
	return woken_ns;
}

/* A thread of the service comes to this CPU: what kept it away is told if it was long enough. */
static __always_inline void comes(struct culprit_cpu *cpu, struct culprit_thread *t, struct task_struct *task,
				  u64 now_ns)
{
	u64 off_ns, here_ns, woken_ns = t->woken_ns, floor_ns = culprit_settings.floor_ns, sleep_ns = floor_ns;
	struct told *told;

	waited_before(t, task);
	off_ns = t->off_ns;
	t->was_seen = 1;
	t->off_ns = 0;
	if (t->is_waiting) {
		t->is_waiting = 0;
		__sync_fetch_and_add(&culprit_counts.waiting, -1);
	}
	if (!off_ns || now_ns < off_ns)
		return;
	if (t->off_kind == OFF_PREEMPTED)
		woken_ns = off_ns;
	else if (!woken_ns)
		woken_ns = t->early_ns + EARLY_NS > off_ns ? off_ns : now_ns;
	if (woken_ns < off_ns)
		woken_ns = off_ns;
	t->early_ns = 0;
	if (t->is_idle)
		sleep_ns = culprit_settings.idle_ns ? culprit_settings.idle_ns : ~0ULL;
	if (now_ns < woken_ns + floor_ns && woken_ns - off_ns < sleep_ns)
		return;
	told = tell(TOLD_OFF);
	if (!told)
		return;
	told->tid = t->tid;
	told->tgid = t->tgid;
	told->from_ns = off_ns;
	told->to_ns = now_ns;
	told->woken_ns = woken_ns;
	here_ns = here_since(t, woken_ns, now_ns);
	told->here_ns = here_ns;
	told->what = t->off_kind;
	told->call = t->call;
	told->kernel_stack = t->kernel_stack;
	told->user_stack = t->user_stack;
	told->waker_tid = t->waker_tid;
	told->waker_tgid = t->waker_tgid;
	told->waker_is_irq = t->waker_is_irq;
	told->argument = t->argument;
	told->is_idle = t->is_idle;
	__builtin_memcpy(told->comm, t->waker, sizeof(told->comm));
	if (t->has_file)
		read_file(told, task, t->argument);
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
	if (now_ns >= woken_ns + floor_ns)
		tell_runs(cpu, here_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(culprit_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct culprit_cpu *cpu = here();
	u32 out, in, from = cpu->slot, to = 0;
	bool is_told;
	u64 now_ns;

	if (!culprit_control.is_enabled)
		return 0;
	now_ns = bpf_ktime_get_ns();
	out = tid_of(prev);
	in = tid_of(next);
	is_told = cpu->is_known && cpu->tid == out;	/* now and then the kernel leaves one out */
	if (!is_told)
		from = out ? slot_for(out, prev) : 0;
	if (is_told && out)
		remember(cpu, prev, from, now_ns);
	if (in)
		to = slot_for(in, next);
	cpu->tid = in;
	cpu->slot = to;
	cpu->in_ns = now_ns;
	cpu->is_known = 1;
	if (from | to)
		cpu->served_ns = now_ns;
	if (from)
		leaves(ctx, seen_at(from), prev, preempt, now_ns);
	if (to)
		comes(cpu, seen_at(to), next, now_ns);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(culprit_waking, struct task_struct *p)
{
	u32 slot = slot_seen(tid_of(p));
	struct culprit_thread *t;
	struct culprit_cpu *cpu;
	u64 now_ns;

	if (!slot || !culprit_control.is_enabled)
		return 0;
	t = seen_at(slot);
	if (t->off_ns && t->woken_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	slept_before(t, p);
	if (!t->off_ns) {
		t->early_ns = now_ns;
	} else {
		t->woken_ns = now_ns;
		if (!t->is_waiting)
			begins_to_wait(t);
	}
	if (t->is_idle && culprit_settings.idle_ns)
		return 0;
	cpu = here();
	t->waker_tid = tid_here();
	t->waker_tgid = tgid_here();
	t->waker_is_irq = cpu->softirq_ns || cpu->irq_ns;
	bpf_get_current_comm(t->waker, sizeof(t->waker));
	return 0;
}

/* It is taken to another CPU. In another state it is being woken, and goes to the first one that it waits for. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(culprit_migrate, struct task_struct *p, int to_cpu)
{
	u32 slot;

	if (p->__state != TASK_RUNNING || !culprit_control.is_enabled)
		return 0;
	slot = slot_seen(tid_of(p));
	if (slot)
		seen_at(slot)->moved_ns = bpf_ktime_get_ns();
	return 0;
}

/* A thread id may be used again by anybody. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(culprit_exit, struct task_struct *p)
{
	u32 tid = tid_of(p), slot = slot_seen(tid);

	if (slot)
		places_left(tid, slot);
	return 0;
}

#include "culprit_irq.h"

char licence[] SEC("license") = "Dual BSD/GPL";
