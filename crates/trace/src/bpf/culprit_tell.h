/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What every hook of the culprit's object uses: this CPU, a thread by its slot, room in the ring.
 *
 * Between two windows no hook is attached, and what was known of a CPU or a thread may have become
 * wrong: at its first sight in a window it is forgotten.
 */
#ifndef SOJOURN_CULPRIT_TELL_H
#define SOJOURN_CULPRIT_TELL_H

static __noinline int forget_cpu(struct culprit_cpu *cpu)
{
	cpu->slot = 0;
	cpu->is_known = 0;
	cpu->runs_n = 0;
	cpu->served_ns = 0;
	cpu->softirq_ns = 0;
	cpu->irq_ns = 0;
	cpu->nested_ns = 0;
	cpu->dropped_ns = 0;
	for (u32 i = 0; i < VECTORS; i++)
		cpu->sums[i].ns = 0;
	cpu->epoch = culprit_control.epoch;
	return 0;
}

static __always_inline struct culprit_cpu *here(void)
{
	u32 number = bpf_get_smp_processor_id();
	struct culprit_cpu *cpu = &culprit_cpus[wrapped(number, MAX_CPUS)];

	if (cpu->epoch != culprit_control.epoch)
		forget_cpu(cpu);
	return cpu;
}

static __always_inline struct culprit_thread *thread_at(u32 slot)
{
	return &culprit_threads[wrapped(slot, MAX_THREADS)];
}

static __noinline int forget_thread(struct culprit_thread *t)
{
	t->off_ns = 0;
	t->woken_ns = 0;
	t->early_ns = 0;
	t->moved_ns = 0;
	t->waker_tid = 0;
	t->is_waiting = 0;
	t->was_seen = 0;
	t->is_idle = 0;
	t->has_file = 0;
	t->call = -1;
	t->kernel_stack = -1;
	t->user_stack = -1;
	t->epoch = culprit_control.epoch;
	return 0;
}

/* A thread that a hook sees. */
static __always_inline struct culprit_thread *seen_at(u32 slot)
{
	struct culprit_thread *t = thread_at(slot);

	if (t->epoch != culprit_control.epoch)
		forget_thread(t);
	return t;
}

static __always_inline struct told *tell(enum told_kind kind)
{
	struct told *told = bpf_ringbuf_reserve(&culprit_ring, sizeof(*told), 0);

	if (!told) {
		__sync_fetch_and_add(&culprit_counts.ring_full, 1);
		return 0;
	}
	__sync_fetch_and_add(&culprit_counts.told, 1);
	__builtin_memset(told, 0, sizeof(*told));
	told->kind = kind;
	told->cpu = bpf_get_smp_processor_id();
	return told;
}

#endif
