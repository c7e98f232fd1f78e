/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The kernel side as a plain program: the hooks themselves, called at the times that a script gives.
 *
 * So what is booked where can be expected to the nanosecond, without rights, a kernel or a clock.
 * Standard input holds events, one to a line: TIME in us, VERB, and
 *
 *   in T, preempted T, asleep T, stopped T, waking T     thread T, which has CPU T to itself; from TWINS on
 *                      their ids agree in the low 16 bits
 *   ends T             it calls exit
 *   blocked T          asleep, and no signal can wake it: on a disk, if on a file
 *   enter T CALL       wait read write open futex cork other recv sleep ring; old: write of 32 bits
 *   exit T, timeout T  the call brings something, or nothing
 *   ready C BYTES      a segment reaches connection C, all at once
 *   late C BYTES       the same, but out of the backlog of a socket that was in use
 *   take T C BYTES     the read that T is in copies them
 *   send T C BYTES     a segment of the reply leaves, in T's call; T 0: when an ACK makes room
 *
 * With an argument: where numbers are binned.
 *
 * At the end all connections close. Standard output: a line `record` per request (connection, thread,
 * writer, bytes in and out, total, stages), one line `reasons`, and how many `slots` threads have.
 */
#include <stdio.h>
#include <string.h>

#include "breakdown.bpf.c"

#define SLEEP(on) (WAIT_##on << SYS_SLEEP_AT)
enum { OLD_WRITE = 2 };	/* as if read were meant, by the kernel's own numbers */
enum { THREADS = 16, TWINS = 8, CONNS = 400, PID = 1000, HOG = 9000, HEADER = 34 };

const volatile struct settings settings = {
	.ports = { [0 ... PORT_WORDS - 1] = ~0ULL },
	.syscall_class = { [1] = SYS_WAIT | SLEEP(EVENT), [2] = SYS_READ | SLEEP(FILE),
			   [3] = SYS_WRITE | SLEEP(FILE), [4] = SYS_OPEN | SLEEP(DISK),
			   [5] = SYS_PARK | SLEEP(LOCK), [6] = SYS_CORK,
			   [7] = SYS_READ | SLEEP(SOCKET), [8] = SYS_OTHER | SLEEP(SLEEP),
			   [9] = SYS_URING | SLEEP(SOCKET) },
	.native = { [OLD_WRITE] = 3 },
	.full_records = 1,
#ifdef FEW
	.is_few = 1,
	.sample_below = ~0U,	/* every flow */
#endif
};
static const char *const calls[] = { "other", "wait", "read", "write", "open", "futex", "cork", "recv",
				     "sleep", "ring" };

struct world_sock {
	struct sock sk;		/* first: the hooks are given its address */
	struct tcp_sock tp;
	struct conn conn;
	bool has_conn;
};

static struct world_sock socks[CONNS];
static struct task_struct tasks[THREADS], hog = { .pid = HOG, .tgid = HOG };
static u32 cpu_now;		/* where the hook that is called now runs */
static u32 runs_on[THREADS];	/* thread on each CPU, 0: the hog */
static struct pt_regs regs[THREADS];	/* of the system call that each thread is in */
static u64 now_ns;
static struct record record;
static u64 counted[REASONS];

u64 bpf_ktime_get_ns(void) { return now_ns; }
u32 bpf_get_smp_processor_id(void) { return cpu_now; }
u32 bpf_get_prandom_u32(void) { return 1; }

u64 bpf_get_current_pid_tgid(void)
{
	struct task_struct *task = runs_on[cpu_now] ? &tasks[runs_on[cpu_now]] : &hog;

	return (u64)task->tgid << 32 | task->pid;
}

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	static struct row row;
	static struct thread_totals totals;
	static u32 one = 1;
	u32 index = *(const u32 *)key;

	if (map == &reasons)
		return &counted[index];
	if (map == &rows)
		return &row;
	if (map == &thread_rows)
		return &totals;
	return map == &tgids && index == PID ? &one : 0;
}

long bpf_map_update_elem(const void *map, const void *key, const void *value, u64 flags) { return -1; }

void *bpf_sk_storage_get(const void *map, const void *sk, void *value, u64 flags)
{
	struct world_sock *sock = (struct world_sock *)sk;

	if (!sock->has_conn && !(flags & BPF_SK_STORAGE_GET_F_CREATE))
		return 0;
	sock->has_conn = 1;
	return &sock->conn;
}

struct socket *bpf_sock_from_file(void *file) { return 0; }
struct tcp_sock *bpf_skc_to_tcp_sock(const void *sk) { return &((struct world_sock *)sk)->tp; }

long bpf_probe_read_kernel(void *to, u32 bytes, const void *from)
{
	memcpy(to, from, bytes);
	return 0;
}

long bpf_probe_read_user(void *to, u32 bytes, const void *from) { return -1; }
void *bpf_ringbuf_reserve(const void *ring, u64 bytes, u64 flags) { return &record; }

void bpf_ringbuf_submit(void *submitted, u64 flags)
{
	printf("record %u %u %u %u %u %llu", record.peer_port, record.thread, record.writer,
	       record.bytes_in, record.bytes_out, record.total_ns);
	for (u32 i = 0; i < STAGES; i++)
		printf(" %llu", record.stage_ns[i]);
	printf("\n");
}

long bpf_get_stackid(void *ctx, const void *map, u64 flags) { return -1; }
long bpf_task_pt_regs(const void *task)
{
	return task == &hog ? 0 : (long)&regs[(const struct task_struct *)task - tasks];
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return runs_on[cpu_now] ? &tasks[runs_on[cpu_now]] : &hog;
}

long bpf_seq_write(const void *seq, const void *data, u32 bytes) { return 0; }

/* A packet of the connection, from `seq` on. */
static struct sk_buff *packet(struct world_sock *sock, u32 seq, u32 payload)
{
	static struct net_device loopback = { .flags = IFF_LOOPBACK };
	static unsigned char head[HEADER + 20];
	static struct sk_buff skb;
	u32 words[4] = { 0, __builtin_bswap32(seq), 0, 5 << 4 };

	words[0] = (u32)__builtin_bswap16(80) << 16;	/* destination port */
	memcpy(head + HEADER, words, sizeof(words));
	skb = (struct sk_buff){ .sk = &sock->sk, .dev = &loopback, .head = head,
				.transport_header = HEADER, .len = HEADER + 20 + payload };
	return &skb;
}

static void ready(struct world_sock *sock, u32 bytes, bool is_late)
{
	struct sk_buff *skb = packet(sock, sock->tp.rcv_nxt, bytes);

	skb->sk = 0;		/* its sender's, who is not here */
	on_sent(skb);
	sock->tp.tcp_clock_cache = now_ns;
	if (!is_late)
		on_receive(skb);
	else
		this_cpu()->skb = 0;	/* others came in between */
	on_tcp(&sock->sk, skb);
	sock->tp.rcv_nxt += bytes;
	on_ready(&sock->sk);
}

static void send(struct world_sock *sock, u32 bytes)
{
	struct sk_buff *skb = packet(sock, sock->tp.write_seq, bytes);

	sock->tp.write_seq += bytes;
	if (settings.is_few)
		on_send(&sock->sk);
	on_queue(skb);
	on_sent(skb);
}

static void switch_to(u32 thread, bool is_in, u32 state)
{
	struct task_struct *task = &tasks[thread];

	task->__state = state;
	runs_on[thread] = is_in ? thread : 0;
	if (is_in)
		on_switch(0, &hog, task);
	else
		on_switch(0, task, &hog);
}

static void enter(u32 thread, const char *name)
{
	bool is_old = !strcmp(name, "old");

	for (u32 i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i], name))
			regs[thread].orig_ax = i;
	if (is_old)
		regs[thread].orig_ax = OLD_WRITE;
	tasks[thread].thread_info.status = is_old ? TS_COMPAT : 0;
	if (!settings.is_few)
		on_sys_enter(&regs[thread], regs[thread].orig_ax);
}

static void leave_call(u32 thread, long answer)
{
	static struct sock nobodys = { .__sk_common.skc_num = 80 };

	if (!settings.is_few)
		on_sys_exit(&regs[thread], answer);
	else if (regs[thread].orig_ax == 3)
		on_send_end(&nobodys);
	regs[thread].orig_ax = -1;
}

static int event(const char *verb, u32 n, const char *word, u32 conn, u32 bytes)
{
#define is(name) (!strcmp(verb, name))
	cpu_now = is("waking") || is("ready") || is("late") ? 0 : n;
	if (is("in"))
		switch_to(n, 1, 0);
	else if (is("preempted"))
		switch_to(n, 0, 0);
	else if (is("asleep"))
		switch_to(n, 0, 1);
	else if (is("blocked"))
		switch_to(n, 0, TASK_UNINTERRUPTIBLE);
	else if (is("stopped"))
		switch_to(n, 0, 4);
	else if (is("waking"))
		on_waking(&tasks[n]);
	else if (is("ends"))
		on_exit(&tasks[n]);
	else if (is("enter"))
		enter(n, word);
	else if (is("exit") || is("timeout"))
		leave_call(n, is("exit"));
	else if (is("ready") || is("late"))
		ready(&socks[n], conn, is("late"));
	else if (is("take")) {
		socks[conn].tp.copied_seq += bytes;
		on_read(&socks[conn].sk);
	} else if (is("send"))
		send(&socks[conn], bytes);
	else
		return 1;
	return 0;
}

/* Stage, total and row bin of each number on standard input. */
static int bins(void)
{
	unsigned long long ns;

	while (scanf("%llu", &ns) == 1)
		printf("%llu %llu %llu\n", bin_of(ns, STAGE_SUB, STAGE_BINS),
		       bin_of(ns, TOTAL_SUB, TOTAL_BINS), row_of(ns));
	return 0;
}

int main(int argc, char **argv)
{
	char line[128], verb[16];
	unsigned long long us;

	if (argc > 1)
		return bins();
	control.is_enabled = control.started_ns = control.epoch = 1;
	for (u32 i = 1; i < THREADS; i++)
		tasks[i] = (struct task_struct){
			.pid = PID + (i < TWINS ? i : TWINS + (i - TWINS) * TIDS), .tgid = PID,
		};
	for (u32 i = 0; i < CONNS; i++) {
		socks[i].sk.__sk_common.skc_state = TCP_ESTABLISHED;
		socks[i].sk.__sk_common.skc_num = 80;
		socks[i].sk.__sk_common.skc_dport = __builtin_bswap16(i);
	}
	while (fgets(line, sizeof(line), stdin)) {
		char word[16] = "";
		u32 n = 0, conn = 0, bytes = 0;

		if (sscanf(line, "%llu %15s %u %15s %u", &us, verb, &n, word, &bytes) < 3)
			continue;
		sscanf(word, "%u", &conn);
		now_ns = us * 1000;
		if (event(verb, n, word, conn, bytes)) {
			fprintf(stderr, "what is this: %s", line);
			return 2;
		}
	}
	for (u32 i = 0; i < CONNS; i++)
		on_state(&socks[i].sk, TCP_ESTABLISHED, TCP_CLOSE);
	printf("reasons");
	for (u32 i = 0; i < REASONS; i++)
		printf(" %llu", counted[i]);
	printf("\nslots %llu\n", tally.threads_n);
	return 0;
}
