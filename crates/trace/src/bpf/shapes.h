/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * What both sides of the fence agree on: the stages, the reasons, and the shape of every value that
 * user space reads. `stages.rs` and `reasons.rs` in `src/reconstruct` mirror the lists, and have tests that compare;
 * where fields of structs lie `build.rs` takes from here.
 */
#ifndef SOJOURN_SHAPES_H
#define SOJOURN_SHAPES_H

/* Stages in the order in which a request goes through them. All are ns. */
enum stage {
	ST_RX,		/* driver or backlog -> netif_receive_skb */
	ST_IP,		/* netif_receive_skb -> tcp_probe */
	ST_TCP,		/* tcp_probe -> sk_data_ready */
	ST_BUSY,	/* ready -> the serving thread enters epoll_wait */
	ST_WAKEUP,	/* ready, or that entry -> sched_waking */
	ST_RUNQ,	/* runnable and not running: after a wake-up or a preemption */
	ST_SWITCH,	/* sched_switch to the thread -> end of the switch */
	ST_RETURN,	/* running -> epoll_wait returns */
	ST_BATCH,	/* that -> end of the previous system call of the same batch */
	ST_DISPATCH,	/* that -> read is entered */
	ST_READ,	/* the first read of the request */
	ST_BODY,	/* end of the first read -> end of the last read, less the waits in between: */
	ST_CLIENT_WAIT,	/* the rest of the request had not come yet; then for the thread, as at first */
	ST_HANDOVER,	/* end of read -> another thread takes over */
	ST_OPEN,	/* openat and its like */
	ST_APP,		/* the service's own work: read done -> write is entered, less open and all waits */
	ST_REPLY_WAIT,	/* worked on, but the thread serves others before it writes the reply */
	/* The thread sleeps, and has a request to work on. On what: */
	ST_WAIT_UPSTREAM,	/* a socket or pipe, or an event of its loop: another service, process or thread */
	ST_WAIT_DISK,		/* a file */
	ST_WAIT_LOCK,		/* a futex: a lock, or a queue between threads */
	ST_WAIT_SLEEP,		/* time alone: a sleep, or a wait that timed out */
	ST_WAIT_FAULT,		/* a page that is not in memory */
	ST_WAIT_OTHER,		/* anything else */
	ST_WRITE,	/* write entered -> first data segment of the reply at the device queue */
	ST_DRAIN,	/* first -> last data segment of the reply at the device queue */
	ST_TX,		/* last segment queued -> last segment given to the driver */
	ST_STOPPED,	/* the serving thread was stopped by a signal */
	ST_RESIDUAL,	/* explained by none of the above */
	STAGES
};

/* Why a request is not among the matched ones, and other things worth counting. */
enum reason {
	/* unmatched: one count is one request */
	UN_BEGAN_BEFORE,	/* its bytes arrived before the trace saw the connection */
	UN_NO_SEGMENT,		/* bytes were read for which no arrival was seen */
	UN_SEGMENTS_FULL,	/* more unread segments than the queue holds; start unknown */
	UN_NO_REPLY,		/* the connection closed before any reply */
	UN_REPLY_UNFINISHED,	/* the next request was read before this reply had left */
	UN_BAD_ORDER,		/* its end lies before its start: clocks disagree */
	UN_THREAD_UNKNOWN,	/* read by a thread that has no slot */
	UN_CLOSED_UNREAD,	/* the connection closed before its bytes were read */
	UN_IN_FLIGHT,		/* still in service when the trace ended */
	/* notes: nothing is lost, a detail is */
	NOTE_RX_STAMP_MISSING,	/* no receive time on the skb: RX counted as 0 */
	NOTE_RX_SPLIT_LOST,	/* went through the socket's backlog: RX..TCP not split */
	NOTE_THREAD_HISTORY,	/* thread not seen before the data arrived: wait is residual */
	NOTE_PREEMPT_HISTORY,	/* more preemptions than remembered while the request waited */
	NOTE_READ_EXIT_LOST,	/* end of read no longer remembered: part of residual */
	NOTE_ASYNC_SEND,	/* first reply segment left outside a traced write call: residual */
	NOTE_RETRANSMIT,	/* reply segments sent again; not counted in any stage */
	NOTE_LATE_REPLY,	/* reply bytes after the exchange was closed */
	NOTE_MANY_SEGMENTS,	/* requests whose bytes came in more than one segment */
	NOTE_WAKE_UNSEEN,	/* thread ran again without a wake-up being seen */
	NOTE_SWITCH_UNSEEN,	/* another task runs than the last switch said: put right on the spot */
	NOTE_SUM_MISMATCH,	/* stages do not add to the total: must stay 0 */
	NOTE_WORST_DROPPED,	/* candidates for the worst list that found the ring full */
	NOTE_RECORD_DROPPED,	/* full records that found the ring full */
	NOTE_TABLE_FULL,	/* service threads without a slot, each once: beyond MAX_THREADS, or see slots.h */
	NOTE_OPEN_UNSPLIT,	/* thread served others in between: open stays in application */
	NOTE_IO_URING,		/* read or answered by io_uring: no call says when */
	REASONS
};

enum sys_class { SYS_OTHER, SYS_WAIT, SYS_READ, SYS_WRITE, SYS_OPEN, SYS_PARK, SYS_CORK, SYS_URING };
#define SYS_CLASS 0x07
/* Above the class: what a thread that sleeps in the call sleeps on, an enum wait. */
#define SYS_SLEEP_AT 3
#define SYS_SLEEP 0x07
/* Above that: what the second argument of a read is, so that the bytes can be looked at. */
#define SYS_HAS_BUFFER 0x40	/* where they go */
#define SYS_HAS_IOVEC 0x80	/* the address of that, as the first field of a struct iovec */
#define SYS_HAS_MSGHDR 0xc0	/* a struct msghdr, which has the struct iovec's address */
#define MSGHDR_IOVEC 16		/* where */

#define MAX_CPUS 1024
#define MAX_THREADS 1024	/* slot 0 means "none" */
/* What a thread sleeps on. */
enum wait {
	WAIT_OTHER,
	WAIT_EVENT,	/* epoll_wait and its like: whatever its loop waits for */
	WAIT_SOCKET,	/* a socket or a pipe */
	WAIT_DISK,
	WAIT_LOCK,
	WAIT_SLEEP,
	WAIT_FAULT,	/* in no call */
	WAIT_CLIENT,	/* the rest of what the present call reads of a request */
	WAITS
};
#define WAIT_FILE WAIT_CLIENT	/* of a call: a disk if the sleep cannot be interrupted, else a socket or pipe */

#define MAX_SYSCALL 512
#define OTHER_ABI 560
#define PORT_WORDS 1024
#define SEGMENTS 16		/* unread segments remembered per connection; power of 2 */
#define OFFS 32			/* off-CPU intervals remembered per thread; power of 2 */
#define SLEEPS 8		/* sleeps remembered per thread; power of 2 */
#define EXITS_LOG 10		/* read exits remembered per thread: 1024. Redis reads all that are ready first */
#define EXITS (1 << EXITS_LOG)
#define EXIT_THREADS 64		/* beyond as many, threads share the place; power of 2 */

/* Log-linear bins: 2^SUB bins per octave, linear below the first. */
#include "totals.h"
#define STAGE_SUB 5
#define STAGE_BINS ((34 - STAGE_SUB) * 32 + 32)		/* up to 2^34 ns = 17 s, then saturates */
/* Rows: requests of similar total share one; 16 per octave from 2^ROW_MIN ns on. */
#define ROW_SUB 4
#define ROW_MIN 11
#define ROWS (23 * 16 + 1)				/* up to 2^34 ns; row 0 holds all below 2 us */

struct row {
	u64 requests;
	u64 total_ns;
	u64 imbalance_ns;
	u64 bytes_in;
	u64 bytes_out;
	u64 stage_ns[STAGES];
	u32 hist[STAGES][STAGE_BINS];
};

/* A moment in a thread's life: the time, and how long it had been kept off its CPU until then. */
struct stamp {
	u64 ns;
	u64 runq_ns;
	u64 stopped_ns;
	u64 slept_ns;
};

struct slept {
	u64 from_ns;
	u64 to_ns;
};

struct off {
	u64 from_ns;
	u64 to_ns;
	u64 is_stop;
};

struct read_exit {
	struct stamp at;
	struct stamp next;	/* entry of the next system call: until then the thread worked on this */
	struct stamp let_go;	/* entry of the next epoll_wait, or of the next read of a request; 0: none yet */
	u64 tag;		/* of which thread, and of which of its reads */
};

enum off_kind { ON_CPU, OFF_PREEMPTED, OFF_ASLEEP, OFF_STOPPED };

/* One thread of the service. Written by the thread itself and by the CPU that switches it, never
 * at once; only waking_ns is written from elsewhere. */
struct thread {
	/* Changes only when the thread is switched or woken. CPUs where its segments arrive read it: in a line
	 * of its own, or every system call of the thread would take the line from them, and they from it. */
	u32 tid;
	u32 tgid;
	u32 off_kind;
	u32 is_idle;		/* asleep in epoll_wait, and counted in idle_workers */
	u64 epoch;		/* window in which a hook saw it last: see window.h */
	u64 off_ns;
	u64 waking_ns;
	u64 early_waking_ns;
	u64 runq_ns;		/* sums so far */
	u64 stopped_ns;

	u64 slept_ns;		/* until it was woken */
	u64 seed;		/* what it did when the window began, until then */
	u64 seen_ns;		/* history starts here */
	u64 run_ns;		/* time on CPU, service or not */
	u64 switched_in_ns;
	u64 wake_ns;		/* the last time it slept in epoll_wait: woken, switched to, running */
	struct stamp in;
	u64 on_ns;
	u64 loop_runq_ns;	/* from woken in epoll_wait to running; not in runq_ns */
	u64 woken_ns;		/* end of its last sleep */
	u64 slept[WAITS];	/* slept_ns by enum wait */
	struct slept sleeps[SLEEPS];
	u32 sleeps_n;
	u32 slept_on;		/* enum wait of its present or last sleep */
	u32 offs_n;
	u32 is_worker;		/* has served a request */

	u32 class;		/* enum sys_class of the system call it is in */
	u32 in_call;
	u32 sleeps_on;		/* enum wait of that call */
	u32 did_sleep;		/* in it */
	u32 is_timed_out;	/* its last epoll_wait brought nothing; not known to few hooks */
	u32 is_holding;		/* it has not turned from the request that it read last */
	u32 did_read;		/* the present call took request bytes */
	u32 after_read;		/* the last system call took request bytes */
	u32 argument;		/* SYS_HAS_ of the present call */
	u32 is_corked;		/* a reply has been begun under TCP_CORK, at cork_enter */
	u64 looks;		/* reads that were looked into, where system calls have no hook */
	u64 open_ns;
	u64 reads;		/* read calls that took request bytes */
	struct stamp enter;	/* present or last system call */
	struct stamp exit;
	struct stamp wait_enter;
	struct stamp wait_exit;
	struct stamp park_exit;	/* last wait of any kind: futex, epoll, eventfd read */
	struct stamp write_exit;
	struct stamp serve_exit;	/* end of what came before in a batch: a write's exit, or of what was
				 * read the entry of the next call */
	struct stamp cork_enter;	/* first setsockopt since a request was read */
	struct stamp took;	/* end of its first sleep since it sent a reply; 0: none yet */
	u64 took_woken_ns;
	u64 took_on;		/* what that sleep was on */
	u64 took_slept[WAITS];	/* `slept` then */
	u64 sent_ns;		/* last reply segment that a call of this thread brought to a device queue */
	u64 requests;
	u64 total_sum_ns;
	u64 queue_sum_ns;
	u64 sched_sum_ns;
	struct off offs[OFFS];
} __attribute__((aligned(64)));

struct segment {
	u32 start_seq;
	u32 end_seq;
	u32 merged;		/* segments folded into this one because the queue was full */
	u8 is_split_lost;	/* what its request will lack, if it is the first one */
	u8 is_stamp_missing;
	u16 is_out;		/* came while its flow was not in the sample */
	u64 rx_ns;
	u64 receive_ns;
	u64 tcp_ns;
	u64 ready_ns;
	u64 idle_ns;		/* time with an idle worker, so far */
	u64 thread;		/* slot of the connection's last request, and what that thread had */
	u64 runq_ns;		/* been kept off its CPU when this came */
	u64 stopped_ns;
	u64 slept_ns;
};

enum state { IDLE, READING, REPLYING, LOST /* goes on, and has been counted as unmatched */ };

struct request {
	u32 thread;		/* slot that read it */
	u32 writer;		/* slot that wrote it; 0: unknown */
	u32 bytes_in;
	u32 bytes_out;
	u32 reply_base;		/* reply bytes below this belong to earlier requests */
	u32 state;
	u32 segments;		/* that its bytes came in */
	u32 is_body;		/* its first read is booked */
	u32 is_exit_lost;	/* the end of a read was no longer remembered */
	u32 others;		/* few hooks only: its thread read or answered others before this one */
	u32 is_ring;		/* read by io_uring */
	u32 pad;
	u64 start_ns;
	u64 read_no;		/* its first read, of its thread */
	u64 last_read_no;
	u64 open_ns;
	u64 imbalance_ns;
	u64 loop_runq_ns;	/* of its thread, at its last read */
	u64 slept[WAITS];	/* the same */
	struct stamp at;	/* booked up to here */
	struct stamp queued;	/* last reply segment at the device queue */
	struct stamp send;	/* first time that bytes of the reply were given to TCP; few hooks only */
	u64 sent_ns;		/* last reply segment given to the driver */
	u64 stage_ns[STAGES];
};

struct conn {
	/* What an arriving segment touches, with the first segment beside it: two cache lines. */
	u32 epoch;		/* window in which all this is true */
	u32 seg_push;
	u32 seg_pop;
	u32 come_seq;		/* bytes up to here have come */
	u32 read_seq;		/* request bytes read up to here */
	u32 first_seq;		/* bytes below came before the hooks looked at the connection */
	u32 reader;		/* slot that read its last request, 0: none yet */
	u32 peer_port;
	struct segment segs[SEGMENTS];
	u32 sent_seq;		/* reply bytes given to the device up to here */
	u32 skip_sent;		/* the segment on its way to the driver is none of ours */
	struct request req;
	u64 id;			/* address of the socket */
	u64 requests;
	u64 total_sum_ns;
	u64 total_max_ns;
	u64 sweep_number;	/* of the last sweep that came here */
};

#define RECORD_FULL 1	/* asked for by --records */
#define RECORD_SAMPLE 2	/* one of SAMPLE_EVERY, at random, while somebody is to be blamed */
#define SAMPLE_EVERY 16
#define TEXT_BYTES 48	/* of its beginning, while somebody is to be blamed */
#define TEXTS 64	/* beginnings remembered per thread; power of 2 */

struct text {
	u64 number;
	u8 bytes[TEXT_BYTES];
};

/* One request, as it goes through the ring. */
struct record {
	u64 start_ns;
	u64 total_ns;
	u64 imbalance_ns;
	u64 conn;		/* address of the socket: an id, unique while it is open */
	u32 thread;
	u32 writer;
	u32 bytes_in;
	u32 bytes_out;
	u16 peer_port;
	u16 why;		/* RECORD_; none: for the worst list, or as part of the tail */
	u32 seq;		/* number of the request on its connection */
	u64 stage_ns[STAGES];
	u8 text[TEXT_BYTES];	/* how it begins; zeros: not known */
};

/* What a read brought: the first bytes of every 64th, for user space to see how many requests it holds. */
#define PEEKS 256
#define PEEK_BYTES 256
#define PEEK_EVERY 64
struct peek {
	u32 bytes;		/* that were read in all; 0: nothing was looked at */
	u32 shown;		/* of these, in text */
	u8 text[PEEK_BYTES];
};

/* A connection that is open when the trace ends. */
struct conn_line {
	u64 requests;
	u64 total_sum_ns;
	u64 total_max_ns;
	u32 thread;
	u32 peer_port;
};

/* Fixed when the object is loaded. */
struct settings {
	u64 ports[PORT_WORDS];	/* bit per local TCP port that is traced */
	u8 syscall_class[MAX_SYSCALL];	/* enum sys_class, and what stands above it */
	u16 native[OTHER_ABI];		/* numbers of calls of another ABI: see compat.h */
	u8 full_records;		/* every request goes through the ring */
	u8 has_rx_stamps;		/* the kernel stamps received packets */
	u8 is_few;			/* system calls have no hook: see few.h */
	u8 pad;
	u32 sample_below;		/* flows whose hash lies below are in the sample; 0: all are */
	u32 pid_ns;			/* whose numbers are meant: see pids.h */
};

/* Written by user space while the trace runs. */
struct control {
	u64 is_enabled;			/* the hooks do nothing while this is not set */
	u64 started_ns;			/* requests that arrived from here on are counted ... */
	s64 real_minus_mono_ns;		/* CLOCK_REALTIME - CLOCK_MONOTONIC, for skb->tstamp */
	u64 worst_floor_ns;		/* totals from here on are wanted for the worst list; 0: none */
	u64 blame_floor_ns;		/* totals from here on are looked into, and a sample; 0: none */
	u64 ended_ns;			/* ... up to here; 0: without end */
	u64 epoch;			/* number of the window, from 1 */
	u64 seen_ns;			/* the hooks see everything from here on, before started_ns */
	u64 salt;			/* of the sample's hash */
	u64 sweep;			/* enum sweep */
	u64 look;			/* enum look */
	u64 open_n;			/* written by sweeps: requests of the window that had not ended */
	u64 sweep_number;		/* from 1 */
	u64 swept_n;			/* written by sweeps: connections of the window that this one came to */
	u64 known_n;			/* connections that are known in this window; atomic */
};

/* What a sweep does with each connection. */
enum sweep {
	SWEEP_COUNT,	/* its open requests */
	SWEEP_CLOSE,	/* ends the window for it */
	SWEEP_LIST,	/* the same, and lists it */
};

/* What on_task does with each thread. */
enum look {
	LOOK_ENROL,	/* gives it a slot; before the hooks are enabled */
	LOOK_SEED,	/* notes what it does; after that */
};

/* Written by the hooks, read by user space. */
struct tally {
	u64 threads_n;			/* slots given out; the first is 1 */
	u64 samples[5];			/* CPU samples: user, kernel, kernel of which no more is known, all tasks,
					 * kernel in softIRQ */
	u64 totals[TOTAL_BINS];		/* finished requests by total; atomic */
	struct thread threads[MAX_THREADS];
};

#endif
