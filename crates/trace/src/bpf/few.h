/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Few hooks: a sample of flows without those on system calls, which run for every call of every process.
 *
 * From 6.16 on TCP tells when bytes are given to it (tcp_sendmsg_locked) and sockets when a call that
 * sends has ended; when bytes have been read tcp_rcv_space_adjust tells. What no hook tells any more: when
 * epoll_wait is entered and left, when a read is entered, and where a file is opened. So
 *
 *   ST_BATCH       holds thread_busy too: the thread was with others, whether they were of this batch or not
 *   ST_READ        holds context_switch, epoll_return and dispatch too: from running, or from the end of what
 *                  came before, until the bytes had been read
 *   ST_APP         holds handover and open too
 *   ST_REPLY_WAIT  holds all from read to write of a request if its thread read or answered others in between
 *   ST_WAIT_UPSTREAM  holds the part of wait_sleep that is a time given to epoll_wait or poll
 *
 * (`src/judge/few.rs` names them so.) What a thread sleeps in is known from its registers when it goes to sleep.
 * Of requests that are not in the sample only two things are known: that a read took bytes, counted
 * in `reads`, and when its reply had been sent, in `serve_exit`.
 */
#ifndef SOJOURN_FEW_H
#define SOJOURN_FEW_H

#define LOOK_EVERY 8

/* A thread has read bytes of a flow in the sample. They may still be looked at where they were put. */
static __always_inline void few_read(struct thread *t, u32 bytes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs;
	u32 argument;

	t->enter = stamp_of(t, bpf_ktime_get_ns());
	if (t->looks++ % LOOK_EVERY)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	argument = class_of(task, regs, syscall_of(regs)) & SYS_HAS_MSGHDR;
	if (argument)
		look_into(t->looks / LOOK_EVERY, argument, second_argument(regs), bytes);
}

/* More of its bytes have been read: `extend` without the ends of reads. */
static __always_inline void few_extend(struct conn *c, struct thread *t, u32 slot, u32 copied_seq)
{
	struct request *req = &c->req;
	struct segment *seg = first_unread(c);

	if (req->thread == slot) {
		req->last_read_no = t->reads;
		if (seg && seg->ready_ns > req->at.ns) {
			advance_to(req->stage_ns, ST_CLIENT_WAIT, &req->at, seg->ready_ns);
			if (seg->thread == slot) {
				req->at.runq_ns = seg->runq_ns;
				req->at.stopped_ns = seg->stopped_ns;
				req->at.slept_ns = seg->slept_ns;
			}
			book_wait(req, t);
		} else {
			advance(req->stage_ns, ST_BODY, &req->at, &t->enter);
		}
		name_last_wait(req->stage_ns, t, 0, false);
		remember_sleeps(req, t);
	}
	take(c, copied_seq);
}

/* The first data segment of the reply is at the device queue: `reply_begins`. */
static __noinline int few_reply_begins(struct request *req, u32 slot, u64 now_ns)
{
	struct thread *t = thread_at(slot);
	enum stage stage = ST_APP;

	req->state = REPLYING;
	if (!slot || slot != req->writer || !req->send.ns) {
		count(NOTE_ASYNC_SEND);
		req->writer = slot;
		advance_to(req->stage_ns, ST_RESIDUAL, &req->at, now_ns);
		req->queued = req->at;
		return 0;
	}
	if (slot != req->thread)
		stamp_at(t, req->at.ns, &req->at);
	else if (req->others)
		stage = ST_REPLY_WAIT;
	if (stage == ST_REPLY_WAIT)
		book_loop(req, t);
	advance_awake(req->stage_ns, stage, &req->at, t);
	advance(req->stage_ns, stage, &req->at, &req->send);
	if (slot == req->thread)
		name_waits(req->stage_ns, t, req->slept);
	else
		name_last_wait(req->stage_ns, t, 0, false);
	book_sending(req->stage_ns, ST_WRITE, &req->at, t, now_ns);
	req->queued = req->at;
	return 0;
}

/* Bytes are given to TCP, piece by piece, under the socket's lock. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_send, struct sock *sk)
{
	struct cpu *cpu;
	struct thread *t;
	struct conn *c;
	u32 slot;

	if (!control.is_enabled || !is_followed(sk))
		return 0;
	cpu = this_cpu();
	cpu->probe_sk = 0;	/* TCP is at none of its packets any more */
	c = conn_of(sk);
	if (!c || c->req.state != READING || c->req.send.ns)
		return 0;
	slot = slot_here(cpu);
	if (!slot)
		return 0;
	t = thread_at(slot);
	c->req.writer = slot;
	c->req.others = t->reads != c->req.last_read_no || t->serve_exit.ns > c->req.at.ns;
	c->req.send = stamp_of(t, bpf_ktime_get_ns());
	return 0;
}

/* A call that sends has ended: what the thread does from now on is for another request. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send_end, struct sock *sk)
{
	struct thread *t;
	u32 slot;

	if (!control.is_enabled || !is_ours(sk))
		return 0;
	slot = slot_here(this_cpu());
	if (!slot)
		return 0;
	t = thread_at(slot);
	t->serve_exit = stamp_of(t, bpf_ktime_get_ns());
	return 0;
}

#endif
