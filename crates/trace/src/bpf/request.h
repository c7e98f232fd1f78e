/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The life of one request on its connection: bytes arrive (segments), a thread reads them (begin,
 * extend), a reply leaves (reply_begins, reply_goes_on), the next read closes it (finish).
 *
 * Every stage ends where the next begins: `advance` moves one cursor forward and books the way to a
 * stage, less the time the thread was kept off its CPU, which is booked as run-queue delay, as
 * stopped, or as waiting (see wait.h). So the stages of a request add to its total by construction;
 * `finish` checks it.
 */
#ifndef SOJOURN_REQUEST_H
#define SOJOURN_REQUEST_H

/* Is the request what the thread works on in this stage? If it sleeps then, the request waits. */
static __always_inline bool is_worked_on(enum stage stage)
{
	return stage == ST_DISPATCH || stage == ST_READ || stage == ST_BODY || stage == ST_APP ||
	       stage == ST_WRITE || stage == ST_DRAIN;
}

static __always_inline void advance(u64 *stage_ns, enum stage stage, struct stamp *cur, const struct stamp *to)
{
	u64 way_ns, runq_ns, stopped_ns, slept_ns = 0;

	if (to->ns <= cur->ns)
		return;
	way_ns = to->ns - cur->ns;
	runq_ns = to->runq_ns > cur->runq_ns ? to->runq_ns - cur->runq_ns : 0;
	stopped_ns = to->stopped_ns > cur->stopped_ns ? to->stopped_ns - cur->stopped_ns : 0;
	if (is_worked_on(stage) && to->slept_ns > cur->slept_ns)
		slept_ns = to->slept_ns - cur->slept_ns;
	if (runq_ns | stopped_ns | slept_ns) {
		if (runq_ns > way_ns)
			runq_ns = way_ns;
		if (stopped_ns > way_ns - runq_ns)
			stopped_ns = way_ns - runq_ns;
		if (slept_ns > way_ns - runq_ns - stopped_ns)
			slept_ns = way_ns - runq_ns - stopped_ns;
		stage_ns[ST_RUNQ] += runq_ns;
		stage_ns[ST_STOPPED] += stopped_ns;
		stage_ns[ST_WAIT_OTHER] += slept_ns;	/* until it is told on what */
	}
	stage_ns[stage] += way_ns - runq_ns - stopped_ns - slept_ns;
	*cur = *to;
}

/* The same up to a time that comes without sums: nothing to take off. */
static __always_inline void advance_to(u64 *stage_ns, enum stage stage, struct stamp *cur, u64 ns)
{
	if (ns <= cur->ns)
		return;
	stage_ns[stage] += ns - cur->ns;
	cur->ns = ns;
}

/* The segment that holds the first unread byte; read ones before it are dropped. */
static __always_inline struct segment *first_unread(struct conn *c)
{
	for (u32 i = 0; i < SEGMENTS; i++) {
		struct segment *seg = &c->segs[wrapped(c->seg_pop, SEGMENTS)];

		if (c->seg_pop == c->seg_push)
			return 0;
		if (after(seg->end_seq, c->read_seq))
			return seg;
		c->seg_pop++;
	}
	return 0;
}

/* Drops the segments that have been read to their end. Returns how many begin in what was read. */
static __always_inline u32 consume(struct conn *c, u32 copied_seq)
{
	u32 touched = 0;

	for (u32 i = 0; i < SEGMENTS; i++) {
		struct segment *seg = &c->segs[wrapped(c->seg_pop, SEGMENTS)];

		if (c->seg_pop == c->seg_push || !after(copied_seq, seg->start_seq))
			break;
		if (!after(c->read_seq, seg->start_seq))
			touched += 1 + seg->merged;
		if (after(seg->end_seq, copied_seq))
			break;
		c->seg_pop++;
	}
	c->read_seq = copied_seq;
	return touched;
}

/* Counts the segments of which nothing was read, and drops them: each may be a request. */
static __always_inline void count_unread(struct conn *c, enum reason reason)
{
	for (u32 i = 0; i < SEGMENTS; i++) {
		struct segment *seg = &c->segs[wrapped(c->seg_pop, SEGMENTS)];

		if (c->seg_pop == c->seg_push)
			break;
		if (!after(c->read_seq, seg->start_seq) && seg->rx_ns >= control.started_ns && !is_outside(seg))
			count(reason);
		c->seg_pop++;
	}
}

/* What was read up to here is not looked at, nor is the rest of it. */
static __always_inline void pass_over(struct conn *c, u32 copied_seq, u32 write_seq)
{
	consume(c, copied_seq);
	c->req.state = LOST;
	c->req.reply_base = write_seq;
}

/* What was read up to here cannot be matched: counted once, however many reads take the rest. */
static __always_inline void lose(struct conn *c, enum reason reason, u32 copied_seq, u32 write_seq)
{
	pass_over(c, copied_seq, write_seq);
	count(reason);
}

/* Takes what was read up to here into the request. */
static __always_inline void take(struct conn *c, u32 copied_seq)
{
	struct request *req = &c->req;
	u32 before = req->segments;

	req->bytes_in += copied_seq - c->read_seq;
	req->segments += consume(c, copied_seq);
	if (before <= 1 && req->segments > 1)
		count(NOTE_MANY_SEGMENTS);
}

/* The thread slept in epoll_wait on the way: until it was woken the stage goes on, then it waited for a
 * CPU. Of several such sleeps the last one: for whatever the others ended, it was not this request. */
static __always_inline void advance_awake(u64 *stage_ns, enum stage stage, struct stamp *cur, const struct thread *t)
{
	struct stamp woken = t->in;

	if (woken.ns <= cur->ns)
		return;
	woken.ns = t->wake_ns;
	advance(stage_ns, stage, cur, &woken);
	advance_to(stage_ns, ST_RUNQ, cur, t->in.ns);
}

#include "wait.h"

/* Books the request's last read up to its exit, as the first one or as one of the later ones. */
static __always_inline void book_read(struct request *req)
{
	struct read_exit *e = exit_at(req->thread, req->last_read_no);

	if (e->tag != exit_tag(req->thread, req->last_read_no))
		req->is_exit_lost = 1;
	else if (req->is_body)
		advance(req->stage_ns, ST_BODY, &req->at, &e->at);
	else
		advance(req->stage_ns, ST_READ, &req->at, &e->at);
	req->is_body = 1;
}

/* Books the way from bytes that are ready to the entry of the read that takes them. */
static __noinline int book_wait(struct request *req, struct thread *t)
{
	u64 *stage_ns = req->stage_ns;
	struct stamp cur = req->at;

	if (settings.is_few) {	/* `enter` is when the bytes had been read: see few.h */
		advance(stage_ns, ST_BATCH, &cur, &t->wait_enter);
		advance_awake(stage_ns, ST_WAKEUP, &cur, t);
		advance(stage_ns, ST_BATCH, &cur, &t->serve_exit);
		advance(stage_ns, ST_READ, &cur, &t->enter);
	} else if (!t->wait_exit.ns) {				/* blocking reads: no event loop */
		advance(stage_ns, ST_BUSY, &cur, &t->enter);
	} else {
		advance(stage_ns, ST_BUSY, &cur, &t->wait_enter);
		advance_awake(stage_ns, ST_WAKEUP, &cur, t);
		advance_to(stage_ns, ST_SWITCH, &cur, t->on_ns);
		advance(stage_ns, ST_RETURN, &cur, &t->wait_exit);
		advance(stage_ns, ST_BATCH, &cur, &t->serve_exit);
		advance(stage_ns, ST_DISPATCH, &cur, &t->enter);
	}
	req->at = cur;
	return 0;
}

/* More of its bytes are read. Those that came after the last read were the client's to send until then,
 * and waited for the thread since. */
static __always_inline void extend(struct conn *c, struct thread *t, u32 slot, u32 copied_seq)
{
	struct request *req = &c->req;
	struct segment *seg;

	if (req->thread == slot && req->last_read_no != t->reads) {	/* else a piece of the same read */
		book_read(req);
		req->last_read_no = t->reads;
		seg = first_unread(c);
		if (seg && seg->ready_ns > req->at.ns) {
			advance_to(req->stage_ns, ST_CLIENT_WAIT, &req->at, seg->ready_ns);
			if (seg->thread == slot) {
				req->at.runq_ns = seg->runq_ns;
				req->at.stopped_ns = seg->stopped_ns;
				req->at.slept_ns = seg->slept_ns;
			}
			book_wait(req, t);
		}
		name_last_wait(req->stage_ns, t, 0, false);
		remember_sleeps(req, t);
	}
	take(c, copied_seq);
}

/* Books everything from the wire to the entry of the read that takes the first byte. */
static __always_inline void book_arrival(struct request *req, const struct segment *seg, struct thread *t)
{
	u64 *stage_ns = req->stage_ns;
	struct stamp cur;

	if (seg->is_stamp_missing)
		count(NOTE_RX_STAMP_MISSING);
	if (seg->is_split_lost) {
		count(NOTE_RX_SPLIT_LOST);
		stage_ns[ST_RESIDUAL] = seg->tcp_ns - seg->rx_ns;
	} else {
		stage_ns[ST_RX] = seg->receive_ns - seg->rx_ns;
		stage_ns[ST_IP] = seg->tcp_ns - seg->receive_ns;
	}
	stage_ns[ST_TCP] = seg->ready_ns - seg->tcp_ns;
	if (seg->thread && thread_at(seg->thread) == t) {
		cur.ns = seg->ready_ns;
		cur.runq_ns = seg->runq_ns;
		cur.stopped_ns = seg->stopped_ns;
		cur.slept_ns = seg->slept_ns;
	} else if (t->offs_n && t->offs[wrapped(t->offs_n - 1, OFFS)].to_ns > seg->ready_ns)
		stamp_at(t, seg->ready_ns, &cur);
	else
		cur = stamp_of(t, seg->ready_ns);
	if (!t->seen_ns || t->seen_ns > seg->ready_ns) {
		count(NOTE_THREAD_HISTORY);
		advance(stage_ns, ST_RESIDUAL, &cur, &t->enter);
		req->at = cur;
		return;
	}
	req->at = cur;
	book_wait(req, t);
}

/* A read took bytes and no request is open: one begins. Under the socket's lock. */
static __noinline int begin(struct conn *c, struct thread *t, u32 slot, u32 copied_seq, u32 write_seq)
{
	struct request *req = &c->req;
	struct segment *seg = first_unread(c);
	u64 queue_ns, idle_ns;

	if (after(c->first_seq, c->read_seq)) {
		lose(c, UN_BEGAN_BEFORE, copied_seq, write_seq);
		return 0;
	}
	c->first_seq = c->read_seq;	/* sequence numbers wrap */
	if (!seg || after(seg->start_seq, c->read_seq)) {
		lose(c, UN_NO_SEGMENT, copied_seq, write_seq);
		return 0;
	}
	if (is_outside(seg)) {
		pass_over(c, copied_seq, write_seq);
		return 0;
	}
	if (seg->merged && seg->start_seq != c->read_seq) {
		lose(c, UN_SEGMENTS_FULL, copied_seq, write_seq);
		return 0;
	}
	if (seg->rx_ns < control.started_ns) {
		lose(c, UN_BEGAN_BEFORE, copied_seq, write_seq);
		return 0;
	}
	__builtin_memset(req->stage_ns, 0, sizeof(req->stage_ns));
	req->thread = slot;
	c->reader = slot;
	req->writer = 0;
	req->reply_base = write_seq;
	req->bytes_in = 0;
	req->bytes_out = 0;
	req->segments = 0;
	req->start_ns = seg->rx_ns;
	req->is_body = 0;
	req->is_exit_lost = 0;
	req->read_no = t->reads;
	req->last_read_no = t->reads;
	req->open_ns = t->open_ns;
	req->queued.ns = 0;
	req->send.ns = 0;
	req->sent_ns = 0;
	req->is_ring = !settings.is_few && is_ring(t);
	book_arrival(req, seg, t);
	name_last_wait(req->stage_ns, t, 0, false);
	remember_sleeps(req, t);
	queue_ns = req->stage_ns[ST_BUSY] + req->stage_ns[ST_BATCH];
	/* Others' idleness: less the while in which this thread itself had not been woken yet. Alone,
	 * all idleness is its own, also before it heard of the connection. */
	idle_ns = workers < 2 ? 0 : idle_time(t->enter.ns) - seg->idle_ns - req->stage_ns[ST_WAKEUP];
	req->imbalance_ns = (s64)idle_ns < 0 ? 0 : idle_ns < queue_ns ? idle_ns : queue_ns;
	req->state = READING;
	take(c, copied_seq);
	return 0;
}

/* Where writing begins: at this call, or, if it lifts TCP_CORK, where that was first set: NGINX with
 * tcp_nopush (Debian's default) writes in between, and the reply leaves here. */
static __always_inline const struct stamp *begin_of_reply(const struct thread *t)
{
	return t->class == SYS_CORK && t->is_corked ? &t->cork_enter : &t->enter;
}

/* Application time of the thread that read and writes, with the part spent in openat apart. */
static __always_inline void book_application(struct request *req, struct thread *t)
{
	u64 before_ns = req->stage_ns[ST_APP], open_ns = t->open_ns - req->open_ns;
	struct read_exit *e = exit_at(req->thread, req->last_read_no);
	bool is_last_read = t->reads == req->last_read_no + 1;
	bool has_others = !is_last_read || t->sent_ns > e->at.ns;

	/* Redis reads all that are ready, and writes all replies when it has: a reply waits for the
	 * others of its batch, those read after it and those written before it. If the thread went to
	 * sleep in between, the request waited for what its loop waited for: see book_loop. */
	if (has_others && t->wait_enter.ns < e->at.ns) {
		advance(req->stage_ns, ST_APP, &req->at, &e->next);
		advance(req->stage_ns, ST_REPLY_WAIT, &req->at, &t->serve_exit);
	} else if (has_others && e->let_go.ns) {
		advance(req->stage_ns, ST_APP, &req->at, &e->let_go);
		book_loop(req, t);
	}
	advance_awake(req->stage_ns, ST_APP, &req->at, t);
	advance(req->stage_ns, ST_APP, &req->at, begin_of_reply(t));
	if (!has_others)
		book_late_wakes(req, t, &e->at, before_ns);
	name_waits(req->stage_ns, t, req->slept);
	if (!open_ns)
		return;
	if (!is_last_read) {
		count(NOTE_OPEN_UNSPLIT);
		return;
	}
	if (open_ns > req->stage_ns[ST_APP] - before_ns)
		open_ns = req->stage_ns[ST_APP] - before_ns;
	req->stage_ns[ST_APP] -= open_ns;
	req->stage_ns[ST_OPEN] += open_ns;
}

/* The same if another thread writes: first it has to take over. */
static __always_inline void book_handover(struct request *req, struct thread *t)
{
	struct stamp taken = t->park_exit.ns > t->write_exit.ns ? t->park_exit : t->write_exit;
	u64 ns = req->at.ns, before_ns = req->stage_ns[ST_HANDOVER], woken_ns = 0;
	bool is_first_sleep = t->took.ns > ns;
	u32 on = t->slept_on;

	if (is_first_sleep) {
		taken = t->took;
		woken_ns = t->took_woken_ns;
		on = t->took_on;
	} else if (t->park_exit.ns > t->write_exit.ns) {
		woken_ns = t->woken_ns;
	}
	stamp_at(t, ns, &req->at);
	if (t->in.ns <= taken.ns)
		advance_awake(req->stage_ns, ST_HANDOVER, &req->at, t);
	advance(req->stage_ns, ST_HANDOVER, &req->at, &taken);
	before_ns = req->stage_ns[ST_HANDOVER] - before_ns;
	book_readers_sleep(req, ns, woken_ns, before_ns, on == WAIT_EVENT ? t : 0);
	advance_awake(req->stage_ns, ST_APP, &req->at, t);
	advance(req->stage_ns, ST_APP, &req->at, begin_of_reply(t));
	if (is_first_sleep)
		name_waits(req->stage_ns, t, t->took_slept);
	else
		name_last_wait(req->stage_ns, t, 0, false);
}

static __noinline bool sends_by_ring(void)
{
	u32 slot = slot_here(this_cpu());

	return slot && is_ring(thread_at(slot));
}

/* The first data segment of the reply is at the device queue. `slot`: the thread whose write call
 * brought it there; 0 if it left from softIRQ or from a process that is not traced. */
static __noinline int reply_begins(struct request *req, u32 slot, u64 now_ns)
{
	struct thread *t = thread_at(slot);

	req->state = REPLYING;
	req->writer = slot;
	book_read(req);
	if (req->is_exit_lost) {
		count(req->is_ring ? NOTE_IO_URING : NOTE_READ_EXIT_LOST);
		slot = 0;
	} else if (!slot) {
		count(sends_by_ring() ? NOTE_IO_URING : NOTE_ASYNC_SEND);
	}
	if (!slot) {
		advance_to(req->stage_ns, ST_RESIDUAL, &req->at, now_ns);
		req->queued = req->at;
		return 0;
	}
	if (slot == req->thread)
		book_application(req, t);
	else
		book_handover(req, t);
	t->is_corked = 0;
	book_sending(req->stage_ns, ST_WRITE, &req->at, t, now_ns);
	req->queued = req->at;
	return 0;
}

/* A later data segment of the same reply: in a call of its writer, or because the peer made room. */
static __always_inline void reply_goes_on(struct request *req, u32 slot, u64 now_ns)
{
	struct thread *t = thread_at(req->writer);

	if (slot && slot == req->writer) {
		book_sending(req->stage_ns, ST_DRAIN, &req->queued, t, now_ns);
	} else {
		advance_to(req->stage_ns, ST_DRAIN, &req->queued, now_ns);
		if (req->writer)
			req->queued = stamp_from_afar(t, now_ns);
	}
}

#endif
