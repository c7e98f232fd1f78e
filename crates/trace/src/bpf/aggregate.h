/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Finished requests become counts: constant memory, nothing dropped.
 *
 * Requests of similar total share a row; a row holds, per stage, the sum and a histogram. Adding the
 * rows from a quantile upwards gives the stages of the tail, whatever the quantile. All atomic:
 * requests finish on several CPUs at once. Stages of 0 ns are not binned; their number follows.
 */
#ifndef SOJOURN_AGGREGATE_H
#define SOJOURN_AGGREGATE_H

#include "bins.h"

static __always_inline u64 row_of(u64 total_ns)
{
	u64 first = ((ROW_MIN - ROW_SUB + 1) << ROW_SUB) - 1;
	u64 bin = bin_of(total_ns, ROW_SUB, ROWS + first);

	return (bin - first) & if_above(bin, first);
}

static __always_inline void emit(struct conn *c, struct request *req, u64 total_ns)
{
	bool wanted = control.worst_floor_ns && total_ns >= control.worst_floor_ns;
	u32 why = settings.full_records ? RECORD_FULL : 0;
	struct text *text = 0;
	struct record *r;

	if (control.blame_floor_ns) {
		wanted |= total_ns >= control.blame_floor_ns;
		if (!(bpf_get_prandom_u32() & (SAMPLE_EVERY - 1)))
			why |= RECORD_SAMPLE;
	}
	if (!why && !wanted)
		return;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		count(settings.full_records ? NOTE_RECORD_DROPPED : NOTE_WORST_DROPPED);
		return;
	}
	if (control.blame_floor_ns)
		text = text_at(req->thread, req->read_no + 1);
	if (text && text->number == req->read_no + 1)
		__builtin_memcpy(r->text, text->bytes, sizeof(r->text));
	else
		__builtin_memset(r->text, 0, sizeof(r->text));
	r->start_ns = req->start_ns;
	r->total_ns = total_ns;
	r->imbalance_ns = req->imbalance_ns;
	r->conn = c->id;
	r->thread = req->thread;
	r->writer = req->writer;
	r->bytes_in = req->bytes_in;
	r->bytes_out = req->bytes_out;
	r->peer_port = c->peer_port;
	r->why = why;
	r->seq = c->requests;
	__builtin_memcpy(r->stage_ns, req->stage_ns, sizeof(r->stage_ns));
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

static __noinline int add_to_row(struct request *req, u64 total_ns)
{
	u32 key = row_of(total_ns), slot = req->thread;
	struct thread_totals *per_thread;
	struct row *row = bpf_map_lookup_elem(&rows, &key);
	u64 bin, sum_ns = 0;

	if (!row)
		return 0;
	__sync_fetch_and_add(&row->requests, 1);
	__sync_fetch_and_add(&row->total_ns, total_ns);
	if (req->imbalance_ns)
		__sync_fetch_and_add(&row->imbalance_ns, req->imbalance_ns);
	__sync_fetch_and_add(&row->bytes_in, req->bytes_in);
	__sync_fetch_and_add(&row->bytes_out, req->bytes_out);
	for (u32 i = 0; i < STAGES; i++) {
		u64 ns = req->stage_ns[i];

		if (!ns)
			continue;
		sum_ns += ns;
		__sync_fetch_and_add(&row->stage_ns[i], ns);
		bin = bin_of(ns, STAGE_SUB, STAGE_BINS);
		if (is_below(&bin, STAGE_BINS))
			__sync_fetch_and_add(&row->hist[i][bin], 1);
	}
	if (sum_ns != total_ns)
		count(NOTE_SUM_MISMATCH);
	bin = bin_of(total_ns, TOTAL_SUB, TOTAL_BINS);
	if (is_below(&bin, TOTAL_BINS))
		__sync_fetch_and_add(&tally.totals[bin], 1);
	per_thread = bpf_map_lookup_elem(&thread_rows, &slot);
	bin = key;
	if (per_thread && is_below(&bin, ROWS))
		__sync_fetch_and_add(&per_thread->hist[bin], 1);
	return 0;
}

/* Closes the exchange on a connection and counts it, once. */
static __noinline int finish(struct conn *c)
{
	struct request *req = &c->req;
	u64 end_ns = req->sent_ns > req->queued.ns ? req->sent_ns : req->queued.ns;
	struct thread *t;
	u64 total_ns;

	req->state = IDLE;
	if (end_ns <= req->start_ns) {
		count(UN_BAD_ORDER);
		return 0;
	}
	total_ns = end_ns - req->start_ns;
	req->stage_ns[ST_TX] = end_ns - req->queued.ns;
	add_to_row(req, total_ns);
	t = thread_at(req->thread);
	__sync_fetch_and_add(&t->requests, 1);
	__sync_fetch_and_add(&t->total_sum_ns, total_ns);
	c->requests++;
	c->total_sum_ns += total_ns;
	if (total_ns > c->total_max_ns)
		c->total_max_ns = total_ns;
	emit(c, req, total_ns);
	return 0;
}

#endif
