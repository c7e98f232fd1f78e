// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * The black box: how long every request took, with two cheap hooks, all the time.
 *
 * A request lasts from the first of its bytes at TCP until the first bytes of its reply have been given
 * to IP, ns. TCP has read the clock itself at both moments (tcp_clock_cache), so no hook does. All requests are
 * counted by total. Those from floor_ns on go through the ring; culprit.bpf.c tells what its thread waited for.
 *
 * A port alone does not identify the service: another container may serve the same one. So what counts is the
 * process that replies. Requests that others reply to are in `foreign`, and in no other number.
 *
 * Not included: the time before TCP, and bytes of a reply after its first write. What arrives on one connection
 * before an earlier request's reply, and before that has been read, counts as part of it; from the newest of these
 * bytes on after the reply.
 *
 * Bytes that come when all before them have been read, and without a reply, have three readings: a body in parts, a
 * further request, or a request after bytes that get no reply (a SETTINGS ACK of HTTP/2, a COM_STMT_CLOSE of MySQL, a
 * noreply of memcached). In the third one all until now was idleness, perhaps for hours, and no hook can say
 * which it is. So the time begins anew with them: what is counted is too short in the first two readings, and
 * too long in none. A stall before the server reads is in the time whatever comes meanwhile.
 * What may be missing is a wait between a read and a reply (of a worker, where another thread reads on), and the
 * client's own time in sending a body.
 *
 * These requests are in the totals like all others. Without them a service of uploads or of HTTP/2 would have none;
 * with the longer time an idle connection would be the slowest request of all; and with one or the other as
 * floor_ns has it, quantiles would depend on the floor. How many they are is counted in lower_bounds. So a request
 * may look shorter than it was, and is counted as such then, never longer. This holds for a server that sends replies
 * only: what another one sends of its own accord (events, messages to subscribers) counts as the reply to
 * the bytes before it.
 *
 * With is_every all requests go through the ring, and the later writes of a reply too. Then they are not counted by
 * total, because user space has every one of them.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bounds.h"
#include "bins.h"
#include "slow.h"

/* That stop or end a process which does nothing about them, by number: HUP, INT, QUIT; ILL; ABRT to KILL; SEGV; PIPE;
 * TERM; STOP; XCPU, XFSZ; SYS. Not those that services use for themselves: USR1, USR2, ALRM, PROF. */
#define FATAL (0xeU | 1U << 4 | 0xfU << 6 | 1U << 11 | 1U << 13 | 1U << 15 | 1U << 19 | 3U << 24 | 1U << 31)
#define IGNORED 1	/* TRACE_SIGNAL_IGNORED */

struct slow_settings {
	u64 pid_ns;		/* namespace of process numbers: see pids.h */
	u64 is_every;		/* each request is reported, and each later write of its reply */
};

const volatile struct slow_settings slow_settings SEC(".rodata.slow");
struct slow_control slow_control SEC(".data.slow");
struct slow_counts slow_counts SEC(".bss.slow");

static __always_inline u32 pid_ns(void)
{
	return slow_settings.pid_ns;
}

#include "pids.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct asked);
} asked_of SEC(".maps");

#include "tgids.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} slow_ring SEC(".maps");

static __always_inline bool is_served(const struct sock *sk)
{
	u16 port = sk->__sk_common.skc_num;

	return slow_control.ports[port >> 6] >> (port & 63) & 1;
}

/* Another network namespace has the same ports. */
static __always_inline bool is_own(u32 tgid)
{
	return bpf_map_lookup_elem(&tgids, &tgid) != 0;
}

/* Whether the current process is of the service. One that has replied on this connection is, as long as it is
 * current: its number cannot be given to another one before it has ended. */
static __always_inline bool is_own_here(struct asked *asked)
{
	u32 kernels = bpf_get_current_pid_tgid() >> 32;

	if (asked->replier == kernels)
		return true;
	if (!is_own(tgid_here()))
		return false;
	asked->replier = kernels;
	return true;
}

/* Bytes can be read. The reply shows which process they are for. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(slow_ready, struct sock *sk)
{
	struct tcp_sock *tp;
	struct asked *asked;
	u64 now_ns;
	u8 state;

	if (!is_served(sk) || !slow_control.is_enabled)
		return 0;
	state = sk->__sk_common.skc_state;
	if (state != TCP_ESTABLISHED)	/* in CLOSE_WAIT no request begins: what comes is the FIN */
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	asked = bpf_sk_storage_get(&asked_of, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!asked) {
		__sync_fetch_and_add(&slow_counts.untracked, 1);
		return 0;
	}
	if (asked->come_seq == tp->rcv_nxt)	/* woken twice */
		return 0;
	now_ns = tp->tcp_clock_cache;
	if (!asked->first_ns) {
		asked->first_ns = now_ns;
	} else if ((s32)(tp->copied_seq - asked->come_seq) >= 0) {	/* all before has been read */
		asked->together++;
		asked->first_ns = now_ns;
		asked->is_bound = 1;
	}
	asked->come_seq = tp->rcv_nxt;
	asked->last_ns = now_ns;
	return 0;
}

static __noinline int tell_slow(struct sock *sk, u64 start_ns, u64 total_ns, s32 bytes, u32 tgid)
{
	struct slow *slow;

	if (!sk)
		return 0;
	slow = bpf_ringbuf_reserve(&slow_ring, sizeof(*slow), 0);
	if (!slow) {
		__sync_fetch_and_add(&slow_counts.dropped, 1);
		return 0;
	}
	__builtin_memset(slow, 0, sizeof(*slow));
	slow->start_ns = start_ns;
	slow->total_ns = total_ns;
	slow->connection = bpf_get_socket_cookie(sk);
	slow->kind = SLOW_REQUEST;
	slow->tid = tid_here();
	slow->tgid = tgid;
	slow->bytes = bytes > 0 ? bytes : 0;
	slow->peer_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	slow->port = sk->__sk_common.skc_num;
	bpf_get_current_comm(slow->comm, sizeof(slow->comm));
	bpf_ringbuf_submit(slow, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void tell_timed(struct sock *sk, u64 start_ns, u64 at_ns)
{
	struct timed *timed = bpf_ringbuf_reserve(&slow_ring, sizeof(*timed), 0);

	if (!timed) {
		__sync_fetch_and_add(&slow_counts.dropped, 1);
		return;
	}
	timed->start_ns = start_ns;
	timed->at_ns = at_ns;
	timed->connection = bpf_get_socket_cookie(sk);
	bpf_ringbuf_submit(timed, BPF_RB_NO_WAKEUP);
}

/* A call that sends has ended. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(slow_sent, struct sock *sk, int bytes)
{
	struct tcp_sock *tp;
	struct asked *asked;
	u64 start_ns, end_ns, total_ns, bin;
	u32 is_bound, end_seq, together;

	if (!is_served(sk) || !slow_control.is_enabled || bytes <= 0)
		return 0;
	asked = bpf_sk_storage_get(&asked_of, sk, 0, 0);
	if (!asked)
		return 0;
	if (!asked->first_ns) {
		if (slow_settings.is_every && is_own_here(asked))
			tell_timed(sk, 0, bpf_ktime_get_ns());
		return 0;
	}
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	start_ns = asked->first_ns;
	is_bound = asked->is_bound;
	end_ns = tp->tcp_clock_cache;
	if (end_ns <= asked->last_ns)	/* nothing has been sent since: it waits in the socket */
		end_ns = bpf_ktime_get_ns();
	end_seq = tp->rcv_nxt - (sk->__sk_common.skc_state == TCP_CLOSE_WAIT);	/* the FIN counts as a byte */
	asked->is_bound = (s32)(end_seq - tp->copied_seq) > 0;
	asked->first_ns = asked->is_bound ? asked->last_ns : 0;
	together = asked->together + asked->is_bound;
	asked->together = 0;
	if (!is_own_here(asked)) {
		__sync_fetch_and_add(&slow_counts.foreign, 1);
		return 0;
	}
	if (together)
		__sync_fetch_and_add(&slow_counts.together, together);
	total_ns = end_ns - start_ns;
	if ((s64)total_ns < 0)
		return 0;
	if (slow_settings.is_every) {
		tell_timed(sk, start_ns, end_ns);
		return 0;
	}
	bin = bin_of(total_ns | 1, TOTAL_SUB, TOTAL_BINS);
	if (is_below(&bin, TOTAL_BINS))
		__sync_fetch_and_add(&slow_counts.totals[bin], 1);
	if (is_bound)
		__sync_fetch_and_add(&slow_counts.lower_bounds, 1);
	if (total_ns >= slow_control.floor_ns)
		tell_slow(sk, start_ns, total_ns, bytes, tgid_here());
	return 0;
}

/* Who stops or ends the service. */
SEC("tp_btf/signal_generate")
int BPF_PROG(slow_signal, int number, void *info, struct task_struct *task, int is_group, int result)
{
	u32 target = tgid_of(task);
	struct slow *slow;

	if (number < 1 || number > 31 || !(FATAL >> number & 1) || result == IGNORED)
		return 0;
	if (!bpf_map_lookup_elem(&tgids, &target))
		return 0;
	slow = bpf_ringbuf_reserve(&slow_ring, sizeof(*slow), 0);
	if (!slow)
		return 0;
	__builtin_memset(slow, 0, sizeof(*slow));
	slow->start_ns = bpf_ktime_get_ns();
	slow->kind = SLOW_SIGNAL;
	slow->bytes = number;
	slow->tid = tid_here();
	slow->tgid = tgid_here();
	slow->target = target;
	bpf_get_current_comm(slow->comm, sizeof(slow->comm));
	bpf_ringbuf_submit(slow, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Children of the service are of the service. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(slow_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = tgid_of(parent), to = tgid_of(child), one = 1;

	if (from != to && bpf_map_lookup_elem(&tgids, &from))
		bpf_map_update_elem(&tgids, &to, &one, BPF_ANY);
	return 0;
}

/* The last thread of a process ends. Its number may be given to anybody from now on. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(slow_exit, struct task_struct *p)
{
	u32 tgid = tgid_of(p);

	if (!p->signal->live.counter)
		bpf_map_delete_elem(&tgids, &tgid);
	return 0;
}

char licence[] SEC("license") = "Dual BSD/GPL";
