// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * Where the time of each request goes, ns: from the wire to the reply's last segment at the driver.
 *
 * Included: every request that a traced thread reads from a TCP socket on a traced port. Not
 * included: accepting connections, UDP, Unix sockets, and what the client and the wire do.
 * On loopback the sender's softIRQ runs the receiver's half of the stack, so the hooks below `tcp`
 * fire in the client's context and look only at the socket, never at the current task.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "shapes.h"
#include "state.h"
#include "threads.h"
#include "aggregate.h"
#include "request.h"

/* --- a segment arrives --- */

/* RX begins on loopback and veth: the sender puts the packet on a CPU's backlog. Real devices need no
 * hook: the kernel stamps their packets (settings.has_rx_stamps). It does not stamp these, which
 * still carry the time their sender wanted them to leave. */
SEC("tp_btf/netif_rx")
int BPF_PROG(on_backlog, struct sk_buff *skb)
{
	u64 address;
	u16 port;

	if (bpf_probe_read_kernel(&port, sizeof(port), skb->head + skb->transport_header + 2))
		return 0;
	port = __builtin_bswap16(port);
	if (!(settings.ports[port >> 6] >> (port & 63) & 1))
		return 0;
	address = address_of(this_cpu(), skb);
	*packet_at(address) = bpf_ktime_get_ns() << 16 | packet_tag(address);
	return 0;
}

/* When the packet was put on the backlog, 0 if it was not, or not for us. */
static __always_inline u64 backlog_ns(u64 address, u64 now_ns)
{
	u64 word = *packet_at(address);

	if ((word & 0xffff) != packet_tag(address))
		return 0;
	return now_ns - (((now_ns << 16) - (word & ~0xffffULL)) >> 16);
}

/* RX ends, IP begins. One packet at a time climbs the stack on a CPU, so one slot is enough; a
 * packet that takes another way (backlog of a busy socket) is not found there, and counted. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_receive, struct sk_buff *skb)
{
	struct cpu *cpu = this_cpu();
	u64 address = address_of(cpu, skb);

	if ((*packet_at(address) & 0xffff) != packet_tag(address) && skb->dev->flags & IFF_LOOPBACK)
		return 0;	/* a reply on its way to the client */
	cpu->skb = address;
	cpu->receive_ns = bpf_ktime_get_ns();
	return 0;
}

/* IP ends, TCP begins: here socket and packet meet. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_tcp, struct sock *sk, struct sk_buff *skb)
{
	struct cpu *cpu;
	u64 now_ns, address;

	if (!is_ours(sk))
		return 0;
	cpu = this_cpu();
	address = address_of(cpu, skb);
	now_ns = bpf_ktime_get_ns();
	cpu->probe_sk = (u64)sk;
	cpu->tcp_ns = now_ns;
	cpu->probe_receive_ns = cpu->skb == address ? cpu->receive_ns : 0;
	cpu->probe_rx_ns = backlog_ns(address, now_ns);
	if (cpu->probe_rx_ns)
		*packet_at(address) = 0;
	else if (settings.has_rx_stamps && skb->tstamp)
		cpu->probe_rx_ns = skb->tstamp - control.real_minus_mono_ns;
	return 0;
}

static __always_inline void stamp_segment(struct segment *seg, struct cpu *cpu, const struct sock *sk)
{
	u64 rx_ns = cpu->probe_rx_ns, receive_ns = cpu->probe_receive_ns, tcp_ns = cpu->tcp_ns;

	seg->merged = 0;
	seg->split_lost = 0;
	if (cpu->probe_sk != (u64)sk) {
		count(NOTE_RX_STAMP_MISSING);
		seg->rx_ns = seg->receive_ns = seg->tcp_ns = seg->ready_ns;
		return;
	}
	cpu->probe_sk = 0;
	if (!rx_ns || rx_ns > tcp_ns || tcp_ns - rx_ns > 10000000000ULL) {
		count(NOTE_RX_STAMP_MISSING);
		rx_ns = receive_ns ? receive_ns : tcp_ns;
	}
	if (receive_ns + 1000 < rx_ns) {
		count(NOTE_RX_SPLIT_LOST);
		seg->split_lost = 1;
	} else if (receive_ns < rx_ns) {	/* two clocks read 30 ns apart may disagree by that */
		receive_ns = rx_ns;
	}
	seg->rx_ns = rx_ns;
	seg->receive_ns = receive_ns;
	seg->tcp_ns = tcp_ns;
}

/* TCP ends: the bytes can be read. Under the socket's lock, as are reads and writes. */
static __always_inline int data_ready(struct sock *sk)
{
	u8 state = sk->__sk_common.skc_state;
	struct tcp_sock *tp;
	struct segment *seg;
	struct conn *c;
	u32 end_seq;

	if (!is_ours(sk) || (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	end_seq = tp->rcv_nxt;
	c = bpf_sk_storage_get(&conns, sk, 0, 0);
	if (!c) {
		c = bpf_sk_storage_get(&conns, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!c)
			return 0;
		c->read_seq = tp->copied_seq;
		c->segs[SEGMENTS - 1].end_seq = c->read_seq;
	}
	if (c->seg_push - c->seg_pop >= SEGMENTS) {
		seg = &c->segs[(c->seg_push - 1) & (SEGMENTS - 1)];
		seg->end_seq = end_seq;
		seg->merged++;
		return 0;
	}
	seg = &c->segs[(c->seg_push - 1) & (SEGMENTS - 1)];
	if (!after(end_seq, seg->end_seq))	/* no new bytes: a window update, or woken twice */
		return 0;
	u32 start_seq = seg->end_seq;

	seg = &c->segs[c->seg_push & (SEGMENTS - 1)];
	seg->start_seq = start_seq;
	seg->end_seq = end_seq;
	seg->ready_ns = bpf_ktime_get_ns();
	seg->idle_ns = idle_time(seg->ready_ns);
	stamp_segment(seg, this_cpu(), sk);
	c->seg_push++;
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_ready, struct sock *sk)
{
	return data_ready(sk);
}

/* Kernels before 6.3 have no such tracepoint; where fentry works, the function itself does. */
SEC("fentry/sock_def_readable")
int BPF_PROG(on_ready_fentry, struct sock *sk)
{
	return data_ready(sk);
}

/* --- a thread serves it --- */

static __always_inline u32 class_of(long id)
{
	return (u64)id < MAX_SYSCALL ? settings.syscall_class[id] : SYS_OTHER;
}

static __always_inline long syscall_of(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->orig_ax;
#else
	return regs->syscallno;
#endif
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	struct cpu *cpu = this_cpu();
	u32 slot = slot_here(cpu);
	struct thread *t;

	if (!slot)
		return 0;
	cpu->probe_sk = 0;
	t = thread_at(slot);
	t->enter = stamp_of(t, bpf_ktime_get_ns());
	if (t->after_read) {
		t->exits[(t->reads - 1) & (EXITS - 1)].next = t->enter;
		t->after_read = 0;
	}
	t->class = class_of(id);
	t->in_call = 1;
	if (!t->seen_ns)
		t->seen_ns = t->enter.ns;
	if (t->class == SYS_WAIT) {
		t->wait_enter = t->enter;
		t->wake_ns = 0;
		t->in_ns = 0;
		t->on_ns = 0;
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	u32 slot = slot_here(this_cpu());
	struct read_exit *e;
	struct thread *t;

	if (!slot)
		return 0;
	t = thread_at(slot);
	if (!t->in_call)	/* entered before the trace began */
		t->class = class_of(syscall_of(regs));
	t->in_call = 0;
	t->exit = stamp_of(t, bpf_ktime_get_ns());
	switch (t->class) {
	case SYS_WAIT:
		t->wait_exit = t->exit;
		t->park_exit = t->exit;
		break;
	case SYS_READ:
		if (!t->did_read) {
			t->park_exit = t->exit;
			break;
		}
		e = &t->exits[t->reads & (EXITS - 1)];
		e->at = t->exit;
		e->number = ++t->reads;
		t->did_read = 0;
		t->after_read = 1;
		break;
	case SYS_WRITE:
		t->write_exit = t->exit;
		break;
	case SYS_PARK:
		t->park_exit = t->exit;
		break;
	case SYS_OPEN:
		t->open_ns += t->exit.ns - t->enter.ns - (t->exit.runq_ns - t->enter.runq_ns) -
			      (t->exit.stopped_ns - t->enter.stopped_ns);
		break;
	}
	return 0;
}

/* Bytes have been copied to the service: fires after every piece, under the socket's lock. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(on_read, struct sock *sk)
{
	struct tcp_sock *tp;
	struct thread *t;
	struct conn *c;
	u32 slot, copied_seq;

	if (!control.is_enabled || !is_ours(sk))
		return 0;
	slot = slot_here(this_cpu());
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	copied_seq = tp->copied_seq;
	c = bpf_sk_storage_get(&conns, sk, 0, 0);
	if (!c) {	/* its bytes were waiting when the trace began */
		c = bpf_sk_storage_get(&conns, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!c)
			return 0;
		c->read_seq = copied_seq;
		c->segs[SEGMENTS - 1].end_seq = tp->rcv_nxt;
		count(UN_BEGAN_BEFORE);
		return 0;
	}
	if (copied_seq == c->read_seq)
		return 0;
	if (!slot) {
		consume(c, copied_seq);
		c->req.state = IDLE;
		count(UN_THREAD_UNKNOWN);
		return 0;
	}
	t = thread_at(slot);
	t->is_worker = 1;
	if (c->req.state == READING && tp->write_seq == c->req.reply_base) {
		c->req.bytes_in += copied_seq - c->read_seq;
		if (c->req.thread == slot)
			c->req.last_read_no = t->reads;
		consume(c, copied_seq);
	} else {
		if (c->req.state == READING || (c->req.state == REPLYING && after(tp->write_seq, c->sent_seq)))
			count(UN_REPLY_UNFINISHED);
		else if (c->req.state == REPLYING)
			finish(c, sk);
		c->req.state = IDLE;
		begin(c, t, slot, copied_seq, tp->write_seq);
	}
	t->did_read = 1;
	return 0;
}

/* --- the reply leaves --- */

/* The service thread whose write call sends on this socket now; 0 if the segment leaves for another
 * reason. An arriving ACK may set free what a write call left in the buffer: TCP is then still at
 * that ACK on this CPU. */
static __always_inline u32 writer_here(const struct sock *sk)
{
	struct cpu *cpu = this_cpu();
	u32 slot = slot_here(cpu);
	struct thread *t = thread_at(slot);

	if (!slot || cpu->probe_sk == (u64)sk || !t->in_call || t->class != SYS_WRITE)
		return 0;
	return slot;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_queue, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct conn *c;
	u32 slot, payload, end_seq;
	__be32 th[4];	/* the TCP header: [1] sequence number, [3] data offset and flags */
	u64 now_ns;

	if (!sk || !is_ours(sk) || !control.is_enabled)
		return 0;
	c = bpf_sk_storage_get(&conns, sk, 0, 0);
	if (!c || c->req.state == IDLE)
		return 0;
	if (bpf_probe_read_kernel(th, sizeof(th), skb->head + skb->transport_header))
		return 0;
	payload = skb->len - (skb->transport_header - skb->mac_header) - ((th[3] >> 4 & 0xf) << 2);
	c->skip_sent = 1;
	if (!payload)
		return 0;
	end_seq = __builtin_bswap32(th[1]) + payload;
	if (!after(end_seq, c->req.reply_base)) {
		count(NOTE_LATE_REPLY);
		return 0;
	}
	if (c->req.state == REPLYING && !after(end_seq, c->sent_seq)) {
		count(NOTE_RETRANSMIT);
		return 0;
	}
	c->skip_sent = 0;
	c->sent_seq = end_seq;
	c->req.bytes_out += payload;
	now_ns = bpf_ktime_get_ns();
	slot = writer_here(sk);
	if (c->req.state == READING)
		reply_begins(&c->req, slot, now_ns);
	else
		reply_goes_on(&c->req, slot, now_ns);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(on_sent, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct conn *c;

	if (!sk || !is_ours(sk))
		return 0;
	c = bpf_sk_storage_get(&conns, sk, 0, 0);
	if (c && c->req.state == REPLYING && !c->skip_sent)
		c->req.sent_ns = bpf_ktime_get_ns();
	return 0;
}

/* A connection ends, and with it its last exchange. It has lost its port by now: not asked for. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct conn *c;

	if (new_state != TCP_CLOSE)
		return 0;
	c = bpf_sk_storage_get(&conns, sk, 0, 0);
	if (!c || !control.is_enabled)
		return 0;
	if (c->req.state == REPLYING)
		finish(c, sk);
	else if (c->req.state == READING)
		count(UN_NO_REPLY);
	c->req.state = IDLE;
	return 0;
}

/* --- the threads --- */

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	u32 tid = p->pid, slot = slot_of[tid & 0xffff];
	struct thread *t = thread_at(slot);
	u64 now_ns;

	if (!slot || t->tid != tid)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (t->off_kind == OFF_ASLEEP || t->off_kind == OFF_STOPPED) {
		if (!t->waking_ns)
			t->waking_ns = now_ns;
		if (t->is_idle)
			idle_ends(t, now_ns);
	} else {
		t->early_waking_ns = now_ns;
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cpu *cpu = this_cpu();
	u32 out = prev->pid, in = next->pid, from = cpu->slot, to = 0;
	u64 now_ns;

	if (!cpu->is_known || cpu->tid != out)
		from = out ? slot_for(out, prev->tgid) : 0;
	if (in)
		to = slot_for(in, next->tgid);
	cpu->tid = in;
	cpu->slot = to;
	cpu->is_known = 1;
	if (!(from | to))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (from)
		switch_out(thread_at(from), preempt, prev->__state, now_ns);
	if (to)
		switch_in(thread_at(to), now_ns);
	return 0;
}

/* End of the context switch (kernels from 6.16 on); without it the switch is part of `return`. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_switched, bool is_switch)
{
	struct cpu *cpu = this_cpu();
	struct thread *t;

	if (!is_switch || !cpu->is_known || !cpu->slot)
		return 0;
	t = thread_at(cpu->slot);
	if (t->in_ns && !t->on_ns)
		t->on_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = parent->tgid, to = child->tgid, one = 1;

	if (from != to && bpf_map_lookup_elem(&tgids, &from))
		bpf_map_update_elem(&tgids, &to, &one, BPF_ANY);
	return 0;
}

/* A thread id may be used again by anybody. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	u32 tid = p->pid, slot = slot_of[tid & 0xffff];

	if (slot && thread_at(slot)->tid == tid) {
		slot_of[tid & 0xffff] = 0;
		if (thread_at(slot)->is_idle)
			idle_ends(thread_at(slot), bpf_ktime_get_ns());
	}
	return 0;
}

/* --- beside the requests --- */

#if defined(__TARGET_ARCH_x86)
#define IP_OFFSET 128	/* pt_regs.ip */
#elif defined(__TARGET_ARCH_arm64)
#define IP_OFFSET 256	/* user_pt_regs.pc */
#endif

/* Whose CPU time: user or kernel, while a service thread is on the CPU. Sampled, with the stack. */
SEC("perf_event")
int on_sample(void *ctx)
{
	struct cpu *cpu = this_cpu();
	u64 ip = *(u64 *)(ctx + IP_OFFSET), one = 1, *n;
	s32 stack;
	u32 key;

	if (!control.is_enabled)
		return 0;
	__sync_fetch_and_add(&tally.samples[3], 1);
	if (!cpu->is_known || !cpu->slot)
		return 0;
	if ((s64)ip >= 0) {
		__sync_fetch_and_add(&tally.samples[0], 1);
		return 0;
	}
	__sync_fetch_and_add(&tally.samples[1], 1);
	stack = bpf_get_stackid(ctx, &stacks, 0);
	if (stack < 0) {
		__sync_fetch_and_add(&tally.samples[2], 1);
		return 0;
	}
	key = stack;
	n = bpf_map_lookup_elem(&stack_samples, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else if (bpf_map_update_elem(&stack_samples, &key, &one, BPF_NOEXIST))
		__sync_fetch_and_add(&tally.samples[2], 1);
	return 0;
}

/* After the trace: closes the exchanges that no further request closed. */
SEC("iter/bpf_sk_storage_map")
int on_end(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct conn *c = ctx->value;
	struct sock *sk = ctx->sk;
	struct conn_line line;
	struct tcp_sock *tp;

	if (!sk || !c)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (c->req.state == REPLYING && tp && !after(tp->write_seq, c->sent_seq))
		finish(c, 0);
	else if (c->req.state != IDLE)
		count(UN_IN_FLIGHT);
	line.requests = c->requests;
	line.total_sum_ns = c->total_sum_ns;
	line.total_max_ns = c->total_max_ns;
	line.thread = c->req.thread;
	line.peer_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}

char licence[] SEC("license") = "Dual BSD/GPL";
