/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Hooks: a segment arrives, from the backlog or driver until its bytes can be read. */
#ifndef SOJOURN_ARRIVE_H
#define SOJOURN_ARRIVE_H

/* RX begins on loopback and veth: the packet is given to the driver (on_sent), who puts it on a CPU's backlog
 * at once. Real devices need no hook: the kernel stamps their packets (settings.has_rx_stamps). It does not
 * stamp these, which still carry the time their sender wanted them to leave. */
static __always_inline void stamp_packet(const struct sk_buff *skb, const struct sock *sk)
{
	u64 address;
	u16 port;

	if (sk)
		port = sk->__sk_common.skc_dport;
	else if (bpf_probe_read_kernel(&port, sizeof(port), skb->head + skb->transport_header + 2))
		return;
	if (!is_traced(__builtin_bswap16(port)))
		return;
	address = address_of(&this_cpu()->sent_at, skb);
	*packet_at(address) = bpf_ktime_get_ns() << 16 | packet_tag(address);
}

/* When the packet was put on the backlog, 0 if it was not, or not for us. Its word holds 48 bits of that. */
static __always_inline u64 backlog_ns(u64 address)
{
	u64 word = *packet_at(address), since_ns = control.seen_ns;

	if ((word & 0xffff) != packet_tag(address))
		return 0;
	return since_ns + (((word & ~0xffffULL) - (since_ns << 16)) >> 16);
}

/* RX ends, IP begins. One packet at a time climbs the stack on a CPU, so one slot is enough; a
 * packet that takes another way (backlog of a busy socket) is not found there, and counted. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_receive, struct sk_buff *skb)
{
	struct cpu *cpu = this_cpu();
	u64 address = address_of(&cpu->came_at, skb);

	if (!control.is_enabled)
		return 0;
	if ((*packet_at(address) & 0xffff) != packet_tag(address) && skb->dev->flags & IFF_LOOPBACK)
		return 0;	/* a reply on its way to the client */
	cpu->skb = address;
	cpu->receive_ns = bpf_ktime_get_ns();
	return 0;
}

/* IP ends, TCP begins: here socket and packet meet. TCP reads the clock itself right after this
 * (tcp_mstamp_refresh), so nobody else need. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_tcp, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp;
	struct cpu *cpu;
	u64 address;

	if (!control.is_enabled || !is_wanted(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	cpu = this_cpu();
	cpu->probe_sk = (u64)sk;
	cpu->probe_seq = tp->rcv_nxt;
	if (settings.sample_below)	/* nothing below TCP is looked at */
		return 0;
	address = address_of(&cpu->probed_at, skb);
	cpu->probe_receive_ns = cpu->skb == address ? cpu->receive_ns : 0;
	cpu->probe_rx_ns = backlog_ns(address);
	if (cpu->probe_rx_ns)
		*packet_at(address) = 0;
	else if (settings.has_rx_stamps && skb->tstamp)
		cpu->probe_rx_ns = skb->tstamp - control.real_minus_mono_ns;
	return 0;
}

static __always_inline void stamp_segment(struct segment *seg, struct cpu *cpu, const struct tcp_sock *tp, u64 sk)
{
	u64 rx_ns = cpu->probe_rx_ns, receive_ns = cpu->probe_receive_ns, tcp_ns = tp->tcp_clock_cache;

	seg->merged = 0;
	seg->is_split_lost = 0;
	seg->is_stamp_missing = 0;
	if (tcp_ns > seg->ready_ns)
		tcp_ns = seg->ready_ns;
	if (cpu->probe_sk != sk) {
		seg->is_stamp_missing = 1;
		seg->rx_ns = seg->receive_ns = seg->tcp_ns = seg->ready_ns;
		return;
	}
	cpu->probe_sk = 0;
	if (settings.sample_below)
		rx_ns = receive_ns = tcp_ns;
	if (!rx_ns || rx_ns > tcp_ns || tcp_ns - rx_ns > 10000000000ULL) {
		seg->is_stamp_missing = 1;
		rx_ns = receive_ns ? receive_ns : tcp_ns;
	}
	if (receive_ns + 1000 < rx_ns) {
		seg->is_split_lost = 1;
	} else if (receive_ns < rx_ns) {	/* two clocks read 30 ns apart may disagree by that */
		receive_ns = rx_ns;
	}
	seg->rx_ns = rx_ns;
	seg->receive_ns = receive_ns;
	seg->tcp_ns = tcp_ns;
}

/* What the thread that serves this connection had been kept off its CPU until now. If another one takes
 * the request, its history of intervals is gone through instead. */
static __always_inline void remember_thread(struct segment *seg, u32 slot)
{
	struct thread *t = thread_at(slot);
	struct stamp then;

	if (is_seen(t))
		then = stamp_from_afar(t, seg->ready_ns);
	else if (!unseen_stamp(t, seg->ready_ns, &then))
		slot = 0;
	seg->thread = slot;
	if (!slot)
		return;
	seg->runq_ns = then.runq_ns;
	seg->stopped_ns = then.stopped_ns;
	seg->slept_ns = then.slept_ns;
}

/* A connection that was not known before this segment. What came before it and has not been read is
 * left out, or its wait would count from now on. */
static __always_inline struct conn *meet(struct sock *sk, const struct tcp_sock *tp)
{
	struct cpu *cpu = this_cpu();
	bool is_probed = cpu->probe_sk == (u64)sk;
	u32 read_seq = tp->copied_seq, come_seq = cpu->probe_seq;
	struct conn *c;

	if (settings.sample_below && !is_probed)
		return 0;
	hide(come_seq);		/* else one load of either pointer, which the verifier refuses */
	if (!is_probed)
		come_seq = read_seq;
	c = new_conn(sk, read_seq, come_seq);
	if (c)
		follow(c);
	return c;
}

/* TCP ends: the bytes can be read. Under the socket's lock, as are reads and writes. */
static __always_inline int data_ready(struct sock *sk)
{
	u8 state = sk->__sk_common.skc_state;
	struct tcp_sock *tp;
	struct segment *seg;
	struct conn *c;
	u32 start_seq, end_seq;
	bool is_out;

	if (!control.is_enabled || !is_wanted(sk) || (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	end_seq = tp->rcv_nxt - (state == TCP_CLOSE_WAIT);	/* the client's FIN counts as a byte */
	is_out = !is_chosen(peer_port_of(sk));
	c = conn_of(sk);
	if (!c && !is_out)
		c = meet(sk, tp);
	if (!c)
		return 0;
	if (!after(end_seq, c->come_seq))	/* no new bytes: a window update, or woken twice */
		return 0;
	start_seq = c->come_seq;
	c->come_seq = end_seq;
	if (c->seg_push - c->seg_pop >= SEGMENTS) {
		seg = &c->segs[wrapped(c->seg_push - 1, SEGMENTS)];
		seg->end_seq = end_seq;
		seg->merged++;
		return 0;
	}
	if (c->seg_push == c->seg_pop)	/* from the beginning, whose cache lines are warm */
		c->seg_push = c->seg_pop = 0;
	seg = &c->segs[wrapped(c->seg_push, SEGMENTS)];
	seg->start_seq = start_seq;
	seg->end_seq = end_seq;
	seg->ready_ns = bpf_ktime_get_ns();
	seg->idle_ns = idle_time(seg->ready_ns);
	seg->is_out = is_out;
	remember_thread(seg, c->reader);
	stamp_segment(seg, this_cpu(), tp, (u64)sk);
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

#endif
