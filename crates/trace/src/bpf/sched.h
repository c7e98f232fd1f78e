/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Hooks: the threads run, sleep, begin and end. */
#ifndef SOJOURN_SCHED_H
#define SOJOURN_SCHED_H

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	u32 slot = slot_seen(tid_of(p));
	struct thread *t = thread_at(slot);
	u64 now_ns;

	if (!slot || !control.is_enabled)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!is_seen(t))
		see(t);
	if (t->off_kind == OFF_ASLEEP || t->off_kind == OFF_STOPPED) {
		if (!t->waking_ns)
			t->waking_ns = now_ns;
		if (t->is_idle)
			idle_ends(t, now_ns);
	} else {
		t->early_waking_ns = now_ns;
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cpu *cpu = this_cpu();
	u32 out, in, from = cpu->slot, to = 0;
	u64 now_ns;

	if (!control.is_enabled)
		return 0;
	out = tid_of(prev);
	in = tid_of(next);
	if (!cpu->is_known || cpu->tid != out)
		from = out ? slot_for(out, prev) : 0;
	if (in)
		to = slot_for(in, next);
	cpu->tid = in;
	cpu->slot = to;
	cpu->is_known = 1;
	if (!(from | to))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (from)
		switch_out(seen_at(from), prev, preempt, now_ns);
	if (to)
		switch_in(seen_at(to), now_ns);
	return 0;
}

/* End of the context switch (kernels from 6.16 on); without it the switch is part of `return`. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_switched, bool is_switch)
{
	struct cpu *cpu = this_cpu();
	struct thread *t;

	if (!is_switch || !control.is_enabled || !cpu->is_known || !cpu->slot)
		return 0;
	t = thread_at(cpu->slot);
	/* Not where it has left epoll_wait: the switch out of that sleep was not told (see `resync`), and this
	 * is a later one, which would count as part of it all that was done in between. */
	if (t->in.ns && !t->on_ns && t->in_call && t->class == SYS_WAIT)
		t->on_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = tgid_of(parent), to = tgid_of(child), one = 1;

	if (from != to && bpf_map_lookup_elem(&tgids, &from))
		bpf_map_update_elem(&tgids, &to, &one, BPF_ANY);
	return 0;
}

/* A thread id may be used again by anybody. This hook and the one before stay between windows. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	u32 tid = tid_of(p), slot = slot_seen(tid);

	if (!slot)
		return 0;
	places_left(tid, slot);
	if (control.is_enabled && is_seen(thread_at(slot)) && thread_at(slot)->is_idle)
		idle_ends(thread_at(slot), bpf_ktime_get_ns());
	return 0;
}

#endif
