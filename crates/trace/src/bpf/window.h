/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Windows: between two of them no hook is attached, and what was known may have become wrong.
 *
 * Every window has a number, its epoch (a trace without windows is one window). What a CPU does and
 * which packets it holds is cleared by user space, while no hook runs. A connection is known only in the
 * epoch in which it was made known (conn_of, new_conn). A thread is forgotten at its first sight in an
 * epoch (see); stamps of earlier ones may stay, for the cursor of a request begins later and passes over
 * them, and so may sums, of which only differences are used.
 *
 * A thread that sleeps in epoll_wait when the window begins would show itself too late: how it came
 * there, and since when, would be unknown. So on_task looks at every thread once the hooks are enabled
 * and leaves a seed. A seed is true as long as no hook has seen the thread since: every change of what
 * it says goes through a hook. The first hook takes it.
 */
#ifndef SOJOURN_WINDOW_H
#define SOJOURN_WINDOW_H

/* A seed is one word, written and taken whole: epoch, and below it */
#define SEED_CLASS 0xff		/* enum sys_class with all that stands above it */
#define SEED_KIND_AT 8		/* enum off_kind */
#define SEED_IN_CALL 0x1000
#define SEED_IDLE 0x2000	/* counted in idle_workers */
#define SEED_WOKEN 0x4000	/* runnable, after a sleep in a wait */

static __always_inline bool is_seen(const struct thread *t)
{
	return t->epoch == control.epoch;
}

static __always_inline bool is_seed(u64 seed)
{
	return seed >> 32 == (u32)control.epoch;
}

/* First sight of a thread in this window. */
static __noinline int see(struct thread *t)
{
	u64 seed, seen_ns = control.seen_ns;

	t->off_kind = ON_CPU;	/* who looks from another CPU now adds nothing */
	t->epoch = control.epoch;	/* before the seed is taken: on_task takes back what nobody will */
	seed = __sync_lock_test_and_set(&t->seed, 0);
	if (!is_seed(seed))
		seed = 0;
	take_class(t, seed & SEED_CLASS);
	t->in_call = !!(seed & SEED_IN_CALL);
	t->is_idle = !!(seed & SEED_IDLE);
	t->did_read = 0;
	t->after_read = 0;
	t->is_corked = 0;
	t->seen_ns = 0;
	t->switched_in_ns = 0;
	t->waking_ns = 0;
	t->early_waking_ns = 0;
	t->wake_ns = 0;
	t->in.ns = 0;
	t->on_ns = 0;
	t->is_holding = 0;
	t->took.ns = 0;
	t->did_sleep = 0;
	if (!seed)
		return 0;
	t->seen_ns = seen_ns;
	t->off_ns = seen_ns;
	if (seed & SEED_WOKEN)
		t->waking_ns = seen_ns;
	t->off_kind = seed >> SEED_KIND_AT & 3;
	t->slept_on = !t->in_call ? WAIT_FAULT : t->sleeps_on == WAIT_FILE ? WAIT_SOCKET : t->sleeps_on;
	if (t->off_kind == ON_CPU)
		t->switched_in_ns = seen_ns;
	return 0;
}

/* A thread that a hook sees. */
static __always_inline struct thread *seen_at(u32 slot)
{
	struct thread *t = thread_at(slot);

	if (!is_seen(t))
		see(t);
	return t;
}

/* How long a thread that no hook has seen in this window had been kept off its CPU until now: as it
 * was, and what has gone on since. False: nothing is known of it. */
static __always_inline bool unseen_stamp(const struct thread *t, u64 ns, struct stamp *s)
{
	u64 seed = t->seed, since_ns = ns > control.seen_ns ? ns - control.seen_ns : 0;
	u32 kind = seed >> SEED_KIND_AT & 3;

	if (!is_seed(seed))
		return false;
	s->ns = ns;
	s->runq_ns = t->runq_ns + (kind == OFF_PREEMPTED ? since_ns : 0);
	s->stopped_ns = t->stopped_ns + (kind == OFF_STOPPED ? since_ns : 0);
	s->slept_ns = t->slept_ns + (kind == OFF_ASLEEP ? since_ns : 0);
	return true;
}

/* A request counts if it arrived in the window, on a flow that was in the sample then. */
static __always_inline bool is_outside(const struct segment *seg)
{
	return seg->is_out || (control.ended_ns && seg->rx_ns >= control.ended_ns);
}

#endif
