/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Beside the requests: whose CPU time, and what is still open at the end. */
#ifndef SOJOURN_BESIDE_H
#define SOJOURN_BESIDE_H

#if defined(__TARGET_ARCH_x86)
#define IP_OFFSET 128	/* pt_regs.ip, and .sp */
#define SP_OFFSET 152
#define THREAD_SIZE 16384	/* of a task's stack */
#elif defined(__TARGET_ARCH_arm64)
#define IP_OFFSET 256	/* user_pt_regs.pc, and .sp */
#define SP_OFFSET 248
#endif

/* Is softIRQ work what this CPU is at, in the kernel? 1 or 0; -1: that takes a look at the stack. On x86 such work
 * has a stack of its own (do_softirq_own_stack), so the stack pointer tells. */
static __always_inline int serves_softirq(u64 sp)
{
#if defined(__TARGET_ARCH_x86)
	return sp - (u64)bpf_get_current_task_btf()->stack >= THREAD_SIZE;
#else
	return -1;
#endif
}

/* Whose CPU time: user or kernel, while a service thread is on the CPU. Sampled. To walk the kernel's
 * stack each time took 5 to 10 us, which was 1.4 to 1.9 % of a reply. */
SEC("perf_event")
int on_sample(void *ctx)
{
	struct cpu *cpu = this_cpu();
	u64 ip = *(u64 *)(ctx + IP_OFFSET), one = 1, *n;
	s32 stack, softirq;
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
	softirq = serves_softirq(*(u64 *)(ctx + SP_OFFSET));
	if (softirq >= 0) {
		__sync_fetch_and_add(&tally.samples[4], softirq);
		return 0;
	}
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

/* A reply that has been quiet for so long, ns, and of which nothing waits to be sent, is taken as whole
 * where no further request says so. */
#define QUIET_NS 1000000

static __always_inline bool is_whole(const struct conn *c, const struct tcp_sock *tp)
{
	if (c->req.state != REPLYING)
		return false;
	/* Nothing was open when the hooks still looked: what has been written since is another reply. */
	if (control.sweep != SWEEP_COUNT && !control.open_n)
		return true;
	return !after(tp->write_seq, c->sent_seq) && bpf_ktime_get_ns() > c->req.queued.ns + QUIET_NS;
}

/* Segments of the window of which nothing has been read: each may be a request. */
static __always_inline u32 unread(const struct conn *c)
{
	u32 n = 0;

	for (u32 i = 0; i < SEGMENTS; i++) {
		const struct segment *seg = &c->segs[i];
		u32 place = (i - c->seg_pop) % SEGMENTS;

		if (place < c->seg_push - c->seg_pop && !after(c->read_seq, seg->start_seq) && !is_outside(seg))
			n++;
	}
	return n;
}

/* At the end of a window: closes the exchanges that no further request closed. Until then: counts what
 * is open. No hook runs beside the closing. */
static __always_inline int sweep_over(struct bpf_iter_meta *meta, struct tcp_sock *tp)
{
	struct conn_line line;
	struct conn *c;
	bool is_open;

	if (!tp)	/* of one that waits for its last segments to die, or another kind of socket */
		return 0;
	c = bpf_sk_storage_get(&conns, tp, 0, 0);
	if (!c || c->sweep_number == control.sweep_number)	/* two descriptors may be of one socket */
		return 0;
	c->sweep_number = control.sweep_number;
	if (c->epoch == (u32)control.epoch) {
		control.swept_n++;
		is_open = c->req.state == READING || c->req.state == REPLYING;
		if (is_open && is_whole(c, tp)) {
			is_open = false;
			if (control.sweep != SWEEP_COUNT)
				finish(c);
		}
		if (control.sweep == SWEEP_COUNT) {
			control.open_n += is_open + unread(c);
			return 0;
		}
		count_many(UN_IN_FLIGHT, is_open + unread(c));
		c->epoch = 0;
	}
	if (control.sweep != SWEEP_LIST)
		return 0;
	line.requests = c->requests;
	line.total_sum_ns = c->total_sum_ns;
	line.total_max_ns = c->total_max_ns;
	line.thread = c->reader;
	line.peer_port = c->peer_port;
	bpf_seq_write(meta->seq, &line, sizeof(line));
	return 0;
}

/* Over the TCP sockets of one network namespace, which takes 2 ms: the kernel's table of them has 100,000 rows and
 * more. What a map keeps of sockets could be gone over too, but there are kernels that refuse that (6.18 of a
 * cloud). */
SEC("iter/tcp")
int on_end(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;

	return common ? sweep_over(ctx->meta, bpf_skc_to_tcp_sock(common)) : 0;
}

/* Over the descriptors of one process, which takes some microseconds. Not all connections have one. */
SEC("iter/task_file")
int on_file(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct socket *socket;

	if (!file)
		return 0;
	socket = bpf_sock_from_file(file);
	return socket ? sweep_over(ctx->meta, bpf_skc_to_tcp_sock(socket->sk)) : 0;
}

#endif
