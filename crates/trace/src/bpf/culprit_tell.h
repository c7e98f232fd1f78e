/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* What every hook of the culprit's object uses: this CPU, a thread by its slot, room in the ring. */
#ifndef SOJOURN_CULPRIT_TELL_H
#define SOJOURN_CULPRIT_TELL_H

static __always_inline struct culprit_cpu *here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return &culprit_cpus[wrapped(cpu, MAX_CPUS)];
}

static __always_inline struct culprit_thread *thread_at(u32 slot)
{
	return &culprit_threads[wrapped(slot, MAX_THREADS)];
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
