/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Settings, maps and the small helpers every hook uses.
 *
 * State lives where it is found without a search: per connection in socket storage (the kernel frees
 * it with the socket), per thread in a table found through the CPU it runs on, per CPU in an array.
 */
#ifndef SOJOURN_STATE_H
#define SOJOURN_STATE_H

/* Fixed when the object is loaded. */
const volatile struct settings settings SEC(".rodata.settings");

/* Written by user space while the trace runs. */
struct control control SEC(".data.control");

/* Written by the hooks, read by user space. */
struct tally tally SEC(".bss.tally");

/* Ends of the reads that took request bytes. Beside the threads, so that a busy one has room for as many
 * connections as it may read before it answers the first. */
struct read_exit exits[EXITS * EXIT_THREADS];

static __always_inline struct read_exit *exit_at(u32 slot, u64 read_no)
{
	return &exits[wrapped((u64)slot << EXITS_LOG | (read_no & (EXITS - 1)), EXITS * EXIT_THREADS)];
}

static __always_inline u64 exit_tag(u32 slot, u64 read_no)
{
	return (u64)slot << 48 | (read_no + 1);
}
/* True of the moment only: user space clears the section before each window, when no hook runs. */
#define OF_THE_MOMENT SEC(".bss.moment")

/* Workers asleep in epoll_wait. Time with at least one of them is what imbalance is made of. */
s32 idle_workers OF_THE_MOMENT;
u64 idle_since_ns OF_THE_MOMENT;
u64 idle_sum_ns OF_THE_MOMENT;

/* Threads that have served a request. */
u32 workers;

/* What this CPU is doing. Written only by hooks on this CPU. */
struct cpu {
	u32 tid;		/* task that runs here, if is_known */
	u32 slot;		/* its slot if it is a service thread, 0: it is none */
	u32 is_known;
	u32 pad;
	u64 skb;		/* last packet that entered the stack here ... */
	u64 receive_ns;		/* ... and when */
	u64 came_at;		/* of on_receive: see address_of */
	u64 probe_sk;		/* socket whose packet TCP is at, 0 after the next system call */
	u64 probe_rx_ns;	/* what was known of the packet */
	u64 probe_receive_ns;
	u32 probe_seq;		/* bytes up to here had come before */
	u32 pad_2;
	u64 sent_at;		/* of on_sent, as came_at */
	u64 probed_at;		/* of on_tcp */
} __attribute__((aligned(64)));

struct cpu cpus[MAX_CPUS] OF_THE_MOMENT;

/* Packets on a CPU's backlog: when they were put there. One word each, so that it is read whole:
 * 48 bits of the time, 16 bits of the address. A collision loses a stamp and never gives a wrong one
 * but for an address that agrees in 28 bits within the same moment. */
#define PACKETS 4096
u64 packets[PACKETS] OF_THE_MOMENT;

static __always_inline u64 *packet_at(u64 address)
{
	return &packets[wrapped(address >> 8, PACKETS)];	/* an sk_buff takes 256 bytes */
}

static __always_inline u64 packet_tag(u64 address)
{
	return address >> 20 & 0xffff;
}

/* A pointer as a number to calculate with: the verifier forgets its type on the way through a map's memory, and
 * not on the way through the stack. Each program has a word of its own on each CPU, `way`, because a softIRQ may
 * strike in between and run other programs. It does not run the same one: it is held off while a packet is received
 * or sent, and newer kernels call no program within itself. On older ones `on_tcp` may take another packet's stamp
 * if that happens between these two lines. */
static __always_inline u64 address_of(u64 *way, const void *pointer)
{
	*(volatile u64 *)way = (u64)pointer;
	return *(volatile u64 *)way;
}

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);	/* its heads are read after each window */
	__uint(max_entries, ROWS);
	__type(key, u32);
	__type(value, struct row);
} rows SEC(".maps");

#include "tgids.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REASONS);
	__type(key, u32);
	__type(value, u64);
} reasons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);		/* set before loading */
} ring SEC(".maps");

struct thread_totals {
	u32 hist[ROWS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_THREADS);
	__type(key, u32);
	__type(value, struct thread_totals);
} thread_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PEEKS);
	__type(key, u32);
	__type(value, struct peek);
} peeks SEC(".maps");

/* How the requests began that a thread read last: of slot s from s * TEXTS on. One entry if nobody is to
 * be blamed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_THREADS * TEXTS);
	__type(key, u32);
	__type(value, struct text);
} texts SEC(".maps");

/* Kernel stacks of the CPU samples; user space looks softIRQ up in them. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(u32));
	__uint(value_size, 127 * sizeof(u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* stack -> samples; atomic */
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);
} stack_samples SEC(".maps");

static __always_inline void count_many(enum reason reason, u64 more)
{
	u32 key = reason;
	u64 *n = bpf_map_lookup_elem(&reasons, &key);

	if (n)	/* atomic, because a softIRQ may strike this hook, and run others; few requests come here */
		__sync_fetch_and_add(n, more);
}

static __always_inline void count(enum reason reason)
{
	count_many(reason, 1);
}

static __always_inline struct cpu *this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return &cpus[wrapped(cpu, MAX_CPUS)];
}

static __always_inline struct thread *thread_at(u32 slot)
{
	return &tally.threads[wrapped(slot, MAX_THREADS)];
}

#include "slots.h"

/* Where the beginning of what a thread's n-th read brought is kept. */
static __always_inline struct text *text_at(u32 slot, u64 number)
{
	u32 key = slot * TEXTS + wrapped(number, TEXTS);

	return bpf_map_lookup_elem(&texts, &key);
}

static __always_inline bool is_traced(u16 port)
{
	return settings.ports[wrapped(port >> 6, PORT_WORDS)] >> (port & 63) & 1;
}

static __always_inline bool is_ours(const struct sock *sk)
{
	return is_traced(sk->__sk_common.skc_num);
}

/* Sequence numbers wrap: a is after b. */
static __always_inline bool after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* Whose numbers of processes are meant: see pids.h. */
static __always_inline u32 pid_ns(void)
{
	return settings.pid_ns;
}

/* The call that a thread is in, by its entry in `syscall_class`. */
static __always_inline void take_class(struct thread *t, u32 class)
{
	t->class = class & SYS_CLASS;
	t->sleeps_on = class >> SYS_SLEEP_AT & SYS_SLEEP;
	t->argument = class & SYS_HAS_MSGHDR;
}

/* The state of a connection, 0 if nothing is known of it in this window. */
static __always_inline struct conn *conn_of(struct sock *sk)
{
	struct conn *c = bpf_sk_storage_get(&conns, sk, 0, 0);

	return c && c->epoch == (u32)control.epoch ? c : 0;
}

/* A connection seen for the first time in this window: bytes up to these have been read, up to those
 * have come. Only what is summed up outlives a window. */
static __always_inline struct conn *new_conn(struct sock *sk, u32 read_seq, u32 come_seq)
{
	struct conn *c = bpf_sk_storage_get(&conns, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!c)
		return 0;
	if (c->epoch != (u32)control.epoch)
		__sync_fetch_and_add(&control.known_n, 1);
	c->epoch = control.epoch;
	c->seg_push = 0;
	c->seg_pop = 0;
	c->req.state = IDLE;
	c->read_seq = read_seq;
	c->first_seq = come_seq;
	c->come_seq = come_seq;
	c->peer_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	c->id = (u64)sk;
	return c;
}

#endif
