/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* A thread's life: when it ran, waited for a CPU, slept, or was stopped. */
#ifndef SOJOURN_THREADS_H
#define SOJOURN_THREADS_H

/* Threads without a slot that have been counted; those whose ids agree in the low 16 bits count as one. */
u8 is_slotless[TIDS];

static __always_inline void count_slotless(u32 tid)
{
	u8 *is_counted = &is_slotless[wrapped(tid, TIDS)];

	if (*is_counted)
		return;
	*is_counted = 1;
	count(NOTE_TABLE_FULL);
}

/* Slot of a service thread, 0 if it is none. New threads of a traced process get one here. Slots of threads that have
 * ended are not used again, because user space reads what those have done. */
static __noinline u32 slot_for(u32 tid, struct task_struct *task)
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
	slot = new_slot(tid, &tally.threads_n, false);
	if (!slot) {
		count_slotless(tid);
		return 0;
	}
	thread_at(slot)->tgid = tgid;
	thread_at(slot)->tid = tid;
	return slot;
}

static __always_inline struct stamp stamp_of(const struct thread *t, u64 ns)
{
	struct stamp s = {
		.ns = ns, .runq_ns = t->runq_ns, .stopped_ns = t->stopped_ns, .slept_ns = t->slept_ns,
	};

	return s;
}

/* The same for a thread that is off its CPU just now, as seen from another one. */
static __always_inline struct stamp stamp_from_afar(const struct thread *t, u64 ns)
{
	struct stamp s = stamp_of(t, ns);
	u64 from_ns = t->off_ns, woken_ns = t->waking_ns;

	if (t->off_kind == ON_CPU)	/* and nothing is read of what its system calls write all the time */
		return s;
	if (t->off_kind != OFF_PREEMPTED) {
		u64 until_ns = woken_ns ? woken_ns : ns;
		u64 off_ns = until_ns > from_ns ? until_ns - from_ns : 0;

		if (t->off_kind == OFF_STOPPED)
			s.stopped_ns += off_ns;
		else
			s.slept_ns += off_ns;
	}
	if (t->off_kind != OFF_PREEMPTED)
		from_ns = t->in_call && t->class == SYS_WAIT ? 0 : woken_ns;
	if (from_ns && ns > from_ns)
		s.runq_ns += ns - from_ns;
	return s;
}

/* How long the thread has slept since `ns`, as far as its sleeps are remembered. */
static __noinline u64 slept_since(const struct thread *t, u64 ns)
{
	u64 sum_ns = 0;
	u32 n = t->sleeps_n;

	for (u32 i = 1; i <= SLEEPS; i++) {
		const struct slept *slept = &t->sleeps[wrapped(n - i, SLEEPS)];

		if (i > n || slept->to_ns <= ns)
			break;
		sum_ns += slept->to_ns - (slept->from_ns > ns ? slept->from_ns : ns);
	}
	return sum_ns;
}

/* What `stamp_of` would have given at a time gone by: the thread's sums less what was added since. */
static __noinline int stamp_at(const struct thread *t, u64 ns, struct stamp *s)
{
	u32 n = t->offs_n;

	*s = stamp_of(t, ns);
	s->slept_ns -= slept_since(t, ns);
	for (u32 i = 1; i <= OFFS; i++) {
		const struct off *off = &t->offs[wrapped(n - i, OFFS)];
		u64 from_ns;

		if (i > n || off->to_ns <= ns)
			return 0;
		from_ns = off->from_ns > ns ? off->from_ns : ns;
		if (off->is_stop)
			s->stopped_ns -= off->to_ns - from_ns;
		else
			s->runq_ns -= off->to_ns - from_ns;
	}
	count(NOTE_PREEMPT_HISTORY);
	return 0;
}

static __always_inline void add_off(struct thread *t, u64 from_ns, u64 to_ns, bool is_stop)
{
	struct off *off;

	if (to_ns <= from_ns)
		return;
	off = &t->offs[wrapped(t->offs_n, OFFS)];
	off->from_ns = from_ns;
	off->to_ns = to_ns;
	off->is_stop = is_stop;
	t->offs_n++;
	if (is_stop)
		t->stopped_ns += to_ns - from_ns;
	else
		t->runq_ns += to_ns - from_ns;
}

/* What a thread sleeps on that leaves its CPU now: its call tells; outside of calls it is a page. */
static __always_inline u32 sleep_of(const struct thread *t, struct task_struct *task)
{
	u32 class, on = t->sleeps_on;

	if (!t->in_call) {
		class = class_in(task);		/* entered before the hooks looked, or none */
		if (class == NO_CALL)
			return WAIT_FAULT;
		on = class >> SYS_SLEEP_AT & SYS_SLEEP;
	}
	if (on == WAIT_FILE)
		on = task->__state & TASK_UNINTERRUPTIBLE ? WAIT_DISK : WAIT_SOCKET;
	return on == WAIT_SOCKET && t->did_read && !settings.is_few ? WAIT_CLIENT : on;
}

/* It slept until then. */
static __always_inline void add_sleep(struct thread *t, u64 to_ns)
{
	u64 from_ns = t->off_ns, on = t->slept_on;
	struct slept *slept;

	t->did_sleep = 1;
	t->woken_ns = to_ns;
	if (to_ns <= from_ns)
		return;
	slept = &t->sleeps[wrapped(t->sleeps_n, SLEEPS)];
	slept->from_ns = from_ns;
	slept->to_ns = to_ns;
	t->sleeps_n++;
	t->slept_ns += to_ns - from_ns;
	if (is_below(&on, WAITS))
		t->slept[on] += to_ns - from_ns;
}

static __always_inline u64 idle_time(u64 now_ns)
{
	u64 sum_ns = idle_sum_ns, since_ns = idle_since_ns;

	return idle_workers > 0 && now_ns > since_ns ? sum_ns + now_ns - since_ns : sum_ns;
}

/* A CPU that sees the count raised adds the time since then, so the time is written first. Again after it, because
 * the last of the others may have ended in between. */
static __always_inline void idle_one_more(u64 since_ns)
{
	if (idle_workers <= 0)
		idle_since_ns = since_ns;
	if (__sync_fetch_and_add(&idle_workers, 1) == 0)
		idle_since_ns = since_ns;
}

static __always_inline void idle_begins(struct thread *t, u64 now_ns)
{
	t->is_idle = 1;
	idle_one_more(now_ns);
}

static __always_inline void idle_ends(struct thread *t, u64 now_ns)
{
	u64 since_ns = idle_since_ns;

	t->is_idle = 0;
	if (__sync_fetch_and_add(&idle_workers, -1) == 1 && now_ns > since_ns)
		__sync_fetch_and_add(&idle_sum_ns, now_ns - since_ns);
}

/* Adds what it ran since it was switched in, as far as it lies within the trace. */
static __always_inline void add_run(struct thread *t, u64 now_ns)
{
	u64 from_ns = t->switched_in_ns, to_ns = now_ns;

	if (!from_ns || !control.started_ns)
		return;
	if (from_ns < control.started_ns)
		from_ns = control.started_ns;
	if (control.ended_ns && to_ns > control.ended_ns)
		to_ns = control.ended_ns;
	if (to_ns > from_ns)
		t->run_ns += to_ns - from_ns;
}

/* Where system calls have no hook, the one that the thread sleeps in is told by its registers. */
static __always_inline void note_call(struct thread *t, struct task_struct *task, u64 now_ns)
{
	u32 class = class_in(task);

	if (!t->seen_ns)
		t->seen_ns = now_ns;
	t->in_call = class != NO_CALL;
	take_class(t, t->in_call ? class : SYS_OTHER);
	if (t->in_call && t->class == SYS_WAIT)
		t->wait_enter = stamp_of(t, now_ns);
}

static __always_inline void switch_out(struct thread *t, struct task_struct *task, bool preempt, u64 now_ns)
{
	u32 state = task->__state;

	add_run(t, now_ns);
	t->off_ns = now_ns;
	t->waking_ns = 0;
	if (preempt || state == TASK_RUNNING) {
		t->off_kind = OFF_PREEMPTED;
	} else if (state & TASK_STOPPED_OR_TRACED) {
		t->off_kind = OFF_STOPPED;
	} else {
		t->off_kind = OFF_ASLEEP;
		if (settings.is_few)
			note_call(t, task, now_ns);
		t->slept_on = sleep_of(t, task);
		if (t->is_worker && t->in_call && t->class == SYS_WAIT)
			idle_begins(t, now_ns);
	}
}

static __always_inline void switch_in(struct thread *t, u64 now_ns)
{
	u64 woken_ns = t->waking_ns;

	t->switched_in_ns = now_ns;
	if (!t->seen_ns)
		t->seen_ns = now_ns;
	if (t->is_idle)		/* woken before it was asleep: see early_waking_ns */
		idle_ends(t, now_ns);
	switch (t->off_kind) {
	case OFF_PREEMPTED:
		add_off(t, t->off_ns, now_ns, false);
		break;
	case OFF_STOPPED:
		if (!woken_ns)
			woken_ns = now_ns;
		add_off(t, t->off_ns, woken_ns, true);
		add_off(t, woken_ns, now_ns, false);
		break;
	case OFF_ASLEEP:
		/* A waker may strike between the thread's decision to sleep and its switch. */
		if (!woken_ns && t->early_waking_ns && t->early_waking_ns + 100000 > t->off_ns)
			woken_ns = t->off_ns;
		if (!woken_ns) {
			count(NOTE_WAKE_UNSEEN);
			woken_ns = now_ns;
		}
		add_sleep(t, woken_ns);
		if (t->in_call && t->class == SYS_WAIT) {
			t->wake_ns = woken_ns;
			t->in = stamp_of(t, now_ns);
			t->on_ns = 0;
			t->loop_runq_ns += now_ns - woken_ns;
		} else {
			add_off(t, woken_ns, now_ns, false);
		}
		break;
	}
	t->off_kind = ON_CPU;
	t->early_waking_ns = 0;
}

/* Another task runs here than the last switch said: tracing began in between, or the kernel did not
 * tell (seen about once a second on a busy CPU of 6.18, without a miss being counted). */
static __noinline int resync(struct cpu *cpu, u32 tid)
{
	u32 was = cpu->slot;
	struct thread *t;

	cpu->slot = slot_for(tid, bpf_get_current_task_btf());
	cpu->tid = tid;
	if (cpu->is_known && (was | cpu->slot))
		count(NOTE_SWITCH_UNSEEN);
	cpu->is_known = 1;
	t = seen_at(cpu->slot);
	if (cpu->slot && t->off_kind != ON_CPU)
		switch_in(t, bpf_ktime_get_ns());
	return 0;
}

/* The service thread that runs on this CPU, 0 if another task does. */
static __always_inline u32 slot_here(struct cpu *cpu)
{
	u32 tid = tid_here();

	if (!cpu->is_known || cpu->tid != tid)
		resync(cpu, tid);
	return cpu->slot;
}

/* Is it io_uring by which the thread that is current reads or sends now? */
static __always_inline bool is_ring(const struct thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 class;

	if (task->flags & PF_IO_WORKER)
		return true;
	if (t->in_call)
		return t->class == SYS_URING;
	class = class_in(task);
	return class != NO_CALL && (class & SYS_CLASS) == SYS_URING;
}

#endif
