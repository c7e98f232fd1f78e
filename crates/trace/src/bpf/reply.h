/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Hooks: the reply leaves, and the connection with its last one. */
#ifndef SOJOURN_REPLY_H
#define SOJOURN_REPLY_H

/* The service thread whose write call sends on this socket now; 0 if the segment leaves for another
 * reason. An arriving ACK may set free what a write call left in the buffer: TCP is then still at
 * that ACK on this CPU. */
static __always_inline u32 writer_here(const struct sock *sk)
{
	struct cpu *cpu = this_cpu();
	u32 slot = slot_here(cpu);
	struct thread *t = thread_at(slot);

	if (!slot || cpu->probe_sk == (u64)sk)
		return 0;
	if (!settings.is_few && (!t->in_call || (t->class != SYS_WRITE && t->class != SYS_CORK)))
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

	if (!control.is_enabled || !sk || !is_followed(sk))
		return 0;
	c = conn_of(sk);
	if (!c || (c->req.state != READING && c->req.state != REPLYING))
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
	if (c->req.state == READING && settings.is_few)
		few_reply_begins(&c->req, slot, now_ns);
	else if (c->req.state == READING)
		reply_begins(&c->req, slot, now_ns);
	else
		reply_goes_on(&c->req, slot, now_ns);
	if (slot)
		thread_at(slot)->sent_ns = now_ns;
	return 0;
}

/* A packet is given to a driver: of a reply, which ends there, or of a request that has no other device before
 * it, which begins there. */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(on_sent, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct conn *c;

	if (!control.is_enabled)
		return 0;
	stamp_packet(skb, sk);
	if (!sk || !is_ours(sk))
		return 0;
	c = conn_of(sk);
	if (c && c->req.state == REPLYING && !c->skip_sent)
		c->req.sent_ns = bpf_ktime_get_ns();
	return 0;
}

/* A connection ends, and with it its last exchange. It has lost its port by now: not asked for. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct conn *c;

	if (new_state != TCP_CLOSE || !control.is_enabled)
		return 0;
	c = conn_of(sk);
	if (!c)
		return 0;
	if (c->req.state == REPLYING)
		finish(c);
	else if (c->req.state == READING)
		count(UN_NO_REPLY);
	c->req.state = IDLE;
	count_unread(c, UN_CLOSED_UNREAD);
	leave(c);
	c->epoch = 0;
	__sync_fetch_and_add(&control.known_n, -1);
	return 0;
}

#endif
