/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* At the beginning of a window: what each thread of the service does, before any hook has seen it. */
#ifndef SOJOURN_LOOK_H
#define SOJOURN_LOOK_H

/* One that runs may be anywhere: the next hook tells. */
static __always_inline u64 seed_of(struct task_struct *task, const struct thread *t)
{
	u64 seed = control.epoch << 32;
	u32 state = task->__state, class, number;

	if (task->on_cpu)	/* about to sleep, or just gone to: which one, cannot be told */
		return state == TASK_RUNNING ? seed | ON_CPU << SEED_KIND_AT : 0;
	class = class_in(task);
	number = class & SYS_CLASS;
	if (class != NO_CALL)
		seed |= SEED_IN_CALL | (class & SEED_CLASS);
	else
		number = SYS_OTHER;
	if (state & TASK_STOPPED_OR_TRACED)
		return seed | OFF_STOPPED << SEED_KIND_AT;
	if (state == TASK_RUNNING && number != SYS_WAIT)
		return seed | OFF_PREEMPTED << SEED_KIND_AT;
	if (state == TASK_RUNNING)
		seed |= SEED_WOKEN;
	else if (number == SYS_WAIT && t->is_worker)
		seed |= SEED_IDLE;
	return seed | OFF_ASLEEP << SEED_KIND_AT;
}

/* Leaves a seed with the thread. If a hook saw it in the meantime and did not take the seed, it may be
 * wrong, and is taken back. */
static __always_inline void sow(struct thread *t, u64 seed)
{
	if (!seed || is_seen(t))
		return;
	if (seed & SEED_IDLE)
		idle_one_more(control.seen_ns);
	__sync_lock_test_and_set(&t->seed, seed);
	if (is_seen(t) && __sync_lock_test_and_set(&t->seed, 0) == seed && (seed & SEED_IDLE))
		__sync_fetch_and_add(&idle_workers, -1);
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 tid, tgid, slot;

	if (!task)
		return 0;
	tid = tid_of(task);
	tgid = tgid_of(task);
	if (!bpf_map_lookup_elem(&tgids, &tgid))
		return 0;
	if (control.look == LOOK_ENROL) {
		if (tally.threads_n < MAX_THREADS / 2)	/* the rest is for those that run */
			slot_for(tid, task);
		return 0;
	}
	slot = slot_seen(tid);
	if (slot)
		sow(thread_at(slot), seed_of(task, thread_at(slot)));
	return 0;
}

#endif
