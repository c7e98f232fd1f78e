/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What a request waits for while its thread sleeps.
 *
 * `advance` takes such time off the stage in which the thread slept, and puts it into ST_WAIT_OTHER. Here
 * it is put down to what the thread slept on: by the thread's own sums (`slept`), less those at the
 * request's last read.
 */
#ifndef SOJOURN_WAIT_H
#define SOJOURN_WAIT_H

/* Adds what was slept on `on`. `is_timed_out`: no event came, the loop waited for a time. */
static __always_inline void add_wait(u64 *stage_ns, u32 on, bool is_timed_out, u64 ns)
{
	if (on == WAIT_EVENT && is_timed_out)
		on = WAIT_SLEEP;
	if (on == WAIT_EVENT || on == WAIT_SOCKET)
		stage_ns[ST_WAIT_UPSTREAM] += ns;
	else if (on == WAIT_DISK)
		stage_ns[ST_WAIT_DISK] += ns;
	else if (on == WAIT_LOCK)
		stage_ns[ST_WAIT_LOCK] += ns;
	else if (on == WAIT_SLEEP)
		stage_ns[ST_WAIT_SLEEP] += ns;
	else if (on == WAIT_FAULT)
		stage_ns[ST_WAIT_FAULT] += ns;
	else if (on == WAIT_CLIENT)
		stage_ns[ST_CLIENT_WAIT] += ns;
	else
		stage_ns[ST_WAIT_OTHER] += ns;
}

/* Takes what is not named yet for what the thread has slept on since `before`. */
static __noinline int name_waits(u64 *stage_ns, const struct thread *t, const u64 *before)
{
	u64 left_ns = stage_ns[ST_WAIT_OTHER];

	if (!left_ns)
		return 0;
	for (u32 on = WAIT_EVENT; on < WAITS; on++) {
		u64 ns = t->slept[on] - before[on];

		if (ns > left_ns)
			ns = left_ns;
		left_ns -= ns;
		add_wait(stage_ns, on, t->is_timed_out, ns);
	}
	stage_ns[ST_WAIT_OTHER] = left_ns;
	return 0;
}

/* The same for what is more than `known_ns`: the thread's last sleep tells. While a reply is sent, a
 * socket is waited for because the client has not taken what was sent before. */
static __noinline int name_last_wait(u64 *stage_ns, const struct thread *t, u64 known_ns, bool is_sending)
{
	u64 ns = stage_ns[ST_WAIT_OTHER] - known_ns;
	u32 on = t->slept_on;

	if (!ns)
		return 0;
	if (is_sending && (on == WAIT_EVENT || on == WAIT_SOCKET))
		on = WAIT_CLIENT;
	stage_ns[ST_WAIT_OTHER] = known_ns;
	add_wait(stage_ns, on, t->is_timed_out, ns);
	return 0;
}

/* A read has brought bytes: what the thread slept until now, it did not sleep with them. */
static __always_inline void remember_sleeps(struct request *req, const struct thread *t)
{
	req->at.slept_ns = t->slept_ns;
	req->loop_runq_ns = t->loop_runq_ns;
	__builtin_memcpy(req->slept, t->slept, sizeof(req->slept));
}

/* Books the part of a request in which its thread's loop went on: it slept, which the request waited
 * for, and it worked for others. */
static __always_inline void book_loop(struct request *req, const struct thread *t)
{
	u64 *stage_ns = req->stage_ns, before_ns = stage_ns[ST_REPLY_WAIT];
	u64 slept_ns = t->slept[WAIT_EVENT] - req->slept[WAIT_EVENT];

	advance_awake(stage_ns, ST_REPLY_WAIT, &req->at, t);
	if (t->serve_exit.ns > t->wait_exit.ns)
		advance(stage_ns, ST_REPLY_WAIT, &req->at, &t->serve_exit);
	if (slept_ns > stage_ns[ST_REPLY_WAIT] - before_ns)
		slept_ns = stage_ns[ST_REPLY_WAIT] - before_ns;
	stage_ns[ST_REPLY_WAIT] -= slept_ns;
	add_wait(stage_ns, WAIT_EVENT, t->is_timed_out, slept_ns);
	req->slept[WAIT_EVENT] = t->slept[WAIT_EVENT];
}

/* The thread slept in epoll_wait or poll more than once on the way: each time it was woken it waited for
 * a CPU, and only of the last time that is booked (advance_awake). `before_ns`: ST_APP before. */
static __always_inline void book_late_wakes(struct request *req, const struct thread *t,
					    const struct stamp *from, u64 before_ns)
{
	u64 ns = t->loop_runq_ns - req->loop_runq_ns, last_ns = t->in.ns > from->ns ? t->in.ns - t->wake_ns : 0;

	ns = ns > last_ns ? ns - last_ns : 0;
	if (ns > req->stage_ns[ST_APP] - before_ns)
		ns = req->stage_ns[ST_APP] - before_ns;
	req->stage_ns[ST_APP] -= ns;
	req->stage_ns[ST_RUNQ] += ns;
}

/* Another thread answers, which slept until `woken_ns`. What the reader slept from `from_ns` until then
 * was no handover, of `handover_ns` in all: both waited. `waiter`: the other one, if it slept in its loop. */
static __noinline int book_readers_sleep(struct request *req, u64 from_ns, u64 woken_ns, u64 handover_ns,
					 const struct thread *waiter)
{
	const struct thread *reader = thread_at(req->thread);
	u64 left_ns = woken_ns > from_ns ? woken_ns - from_ns : 0;
	u64 since_ns = reader->off_ns > from_ns ? reader->off_ns : from_ns;
	bool is_asleep = reader->off_kind == OFF_ASLEEP && since_ns < woken_ns;

	if (left_ns > handover_ns)
		left_ns = handover_ns;
	for (u32 on = WAIT_OTHER; on < WAITS; on++) {
		u64 ns = reader->slept[on] - req->slept[on];

		if (is_asleep && on == reader->slept_on)
			ns += woken_ns - since_ns;
		if (ns > left_ns)
			ns = left_ns;
		left_ns -= ns;
		req->stage_ns[ST_HANDOVER] -= ns;
		if (waiter)
			add_wait(req->stage_ns, WAIT_EVENT, waiter->is_timed_out, ns);
		else
			add_wait(req->stage_ns, on == WAIT_LOCK ? WAIT_OTHER : on, reader->is_timed_out, ns);
	}
	return 0;
}

/* Books a part of sending. */
static __always_inline void book_sending(u64 *stage_ns, enum stage stage, struct stamp *cur,
					 const struct thread *t, u64 now_ns)
{
	u64 before_ns = stage_ns[ST_WAIT_OTHER];
	struct stamp now = stamp_of(t, now_ns);

	advance_awake(stage_ns, stage, cur, t);
	advance(stage_ns, stage, cur, &now);
	name_last_wait(stage_ns, t, before_ns, true);
}

#endif
