/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Hooks: a thread serves it: system calls, and the bytes that one of them read. */
#ifndef SOJOURN_SERVE_H
#define SOJOURN_SERVE_H

/* How a request begins: what was asked for, by which its tail is told apart. */
static __noinline int keep_text(u32 slot, u64 number, u32 argument, u64 address, u64 bytes)
{
	struct text *text = text_at(slot, number);
	u64 kept = bytes < TEXT_BYTES ? bytes : TEXT_BYTES;

	if (!text || !is_below(&kept, TEXT_BYTES + 1))
		return 0;
	text->number = 0;
	__builtin_memset(text->bytes, 0, sizeof(text->bytes));
	if (!bpf_probe_read_user(text->bytes, kept, (void *)buffer_of(argument, address)))
		text->number = number;
	return 0;
}

/* The thread turns from what it read last: to its loop, or to another request. */
static __always_inline void let_go(struct thread *t, u32 slot)
{
	exit_at(slot, t->reads - 1)->let_go = t->enter;
	t->is_holding = 0;
}

/* A call in which a thread waits for something to do has ended. On a socket it waits for an answer. */
static __always_inline void parked(struct thread *t)
{
	if (t->sleeps_on == WAIT_SOCKET)
		return;
	t->park_exit = t->exit;
	if (!t->did_sleep || t->took.ns)
		return;
	t->took = t->exit;
	t->took_woken_ns = t->woken_ns;
	t->took_on = t->slept_on;
	__builtin_memcpy(t->took_slept, t->slept, sizeof(t->took_slept));
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	struct cpu *cpu = this_cpu();
	struct thread *t;
	u32 slot;

	if (!control.is_enabled)
		return 0;
	slot = slot_here(cpu);
	if (!slot)
		return 0;
	cpu->probe_sk = 0;
	t = thread_at(slot);
	t->enter = stamp_of(t, bpf_ktime_get_ns());
	if (t->after_read) {
		exit_at(slot, t->reads - 1)->next = t->enter;
		t->serve_exit = t->enter;
		t->after_read = 0;
	}
	take_class(t, class_of(bpf_get_current_task_btf(), regs, id));
	t->in_call = 1;
	t->did_sleep = 0;
	if (t->is_holding && t->class == SYS_WAIT)
		let_go(t, slot);
	if (t->class == SYS_CORK && !t->is_corked) {
		t->is_corked = 1;
		t->cork_enter = t->enter;
	}
	if (!t->seen_ns)
		t->seen_ns = t->enter.ns;
	if (!t->switched_in_ns)
		t->switched_in_ns = t->enter.ns;
	if (t->class == SYS_WAIT)
		t->wait_enter = t->enter;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct read_exit *e;
	struct thread *t;
	u32 slot;

	if (!control.is_enabled)
		return 0;
	slot = slot_here(this_cpu());
	if (!slot)
		return 0;
	t = thread_at(slot);
	if (!t->in_call)	/* entered before the trace began */
		take_class(t, class_of(bpf_get_current_task_btf(), regs, syscall_of(regs)));
	t->in_call = 0;
	t->exit = stamp_of(t, bpf_ktime_get_ns());
	switch (t->class) {
	case SYS_WAIT:
		t->is_timed_out = !ret;
		t->wait_exit = t->exit;
		t->serve_exit = t->exit;
		parked(t);
		break;
	case SYS_READ:
		if (!t->did_read) {
			parked(t);
			break;
		}
		if (t->is_holding)
			let_go(t, slot);
		t->is_holding = 1;
		e = exit_at(slot, t->reads);
		e->at = t->exit;
		e->let_go.ns = 0;
		e->tag = exit_tag(slot, t->reads);
		t->reads++;
		if (t->argument && t->reads % PEEK_EVERY == 1)
			look_into(t->reads / PEEK_EVERY, t->argument, second_argument(regs), ret);
		if (t->argument && control.blame_floor_ns)
			keep_text(slot, t->reads, t->argument, second_argument(regs), ret);
		t->is_corked = 0;
		t->did_read = 0;
		t->after_read = 1;
		break;
	case SYS_WRITE:
	case SYS_CORK:
		t->serve_exit = t->exit;
		t->write_exit = t->exit;
		if (t->sent_ns > t->enter.ns)
			t->took.ns = 0;
		break;
	case SYS_PARK:
		parked(t);
		break;
	case SYS_OPEN:
		t->open_ns += t->exit.ns - t->enter.ns - (t->exit.runq_ns - t->enter.runq_ns) -
			      (t->exit.stopped_ns - t->enter.stopped_ns) - (t->exit.slept_ns - t->enter.slept_ns);
		break;
	}
	return 0;
}

/* Takes what a thread has read of a connection, up to here. */
static __always_inline void serve(struct conn *c, u32 slot, const struct tcp_sock *tp)
{
	u32 copied_seq = tp->copied_seq;
	struct thread *t;
	bool goes_on;

	goes_on = (c->req.state == READING || c->req.state == LOST) && tp->write_seq == c->req.reply_base;
	if (!goes_on) {
		if (c->req.state == READING || (c->req.state == REPLYING && after(tp->write_seq, c->sent_seq)))
			count(UN_REPLY_UNFINISHED);
		else if (c->req.state == REPLYING)
			finish(c);
		c->req.state = IDLE;
	}
	if (!slot) {
		if (c->req.state == LOST)
			consume(c, copied_seq);
		else
			lose(c, UN_THREAD_UNKNOWN, copied_seq, tp->write_seq);
		return;
	}
	t = thread_at(slot);
	if (!goes_on)
		begin(c, t, slot, copied_seq, tp->write_seq);
	else if (c->req.state == READING && settings.is_few)
		few_extend(c, t, slot, copied_seq);
	else if (c->req.state == READING)
		extend(c, t, slot, copied_seq);
	else
		consume(c, copied_seq);
}

/* The call that the thread is in reads a request, of whatever flow. */
static __always_inline void reads_request(struct thread *t)
{
	t->did_read = 1;
	if (!t->is_worker) {
		t->is_worker = 1;
		__sync_fetch_and_add(&workers, 1);
	}
}

/* Bytes have been copied to the service: fires after every piece, under the socket's lock. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(on_read, struct sock *sk)
{
	struct tcp_sock *tp;
	struct conn *c;
	u32 slot;

	if (!control.is_enabled || !is_ours(sk))
		return 0;
	slot = slot_here(this_cpu());
	c = is_followed(sk) ? conn_of(sk) : 0;
	if (slot && settings.is_few)
		thread_at(slot)->reads++;
	if (slot && !c)
		reads_request(thread_at(slot));
	if (!c && settings.sample_below)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	if (!c) {
		/* its bytes were waiting when the window began */
		c = new_conn(sk, tp->copied_seq, tp->rcv_nxt);
		if (c)
			lose(c, UN_BEGAN_BEFORE, tp->copied_seq, tp->write_seq);
		return 0;
	}
	if (tp->copied_seq == c->read_seq)
		return 0;
	if (slot)
		reads_request(thread_at(slot));
	if (slot && settings.is_few)
		few_read(thread_at(slot), tp->copied_seq - c->read_seq);
	serve(c, slot, tp);
	leave_if_done(c);
	return 0;
}

#endif
