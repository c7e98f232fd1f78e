/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The few kernel types and fields that the hooks read. Offsets are put right when the object is
 * loaded (CO-RE), so the order here means nothing and one object serves every kernel from 5.15 on.
 * A full vmlinux.h would be ten times larger and tied to one kernel.
 */
#ifndef SOJOURN_KERNEL_H
#define SOJOURN_KERNEL_H

#include "types.h"

#define TASK_RUNNING 0
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_STOPPED_OR_TRACED 0x0c /* __TASK_STOPPED | __TASK_TRACED */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];	/* as many as `level` says, and one */
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct thread_info {
#if defined(__TARGET_ARCH_x86)
	u32 status;
#else
	unsigned long flags;
#endif
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;	/* threads that have not ended */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	int on_cpu;
	void *stack;
	u64 start_time;	/* CLOCK_MONOTONIC */
	char comm[16];
};

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	__be16 skc_dport;
	__u16 skc_num;
};

struct sock {
	struct sock_common __sk_common;
};

struct tcp_sock {
	u32 copied_seq;
	u32 write_seq;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u64 bytes_received;
	u64 bytes_acked;
	u64 tcp_clock_cache;	/* when TCP began with what it does now, CLOCK_MONOTONIC */
};

struct net_device {
	unsigned int flags;
};

#define IFF_LOOPBACK 8

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	s64 tstamp;
	unsigned int len;
	unsigned char *head;
	__u16 transport_header;
	__u16 mac_header;	/* where the packet begins, once it is at the device queue */
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long orig_ax;
	unsigned long bx;
	unsigned long si;
#else
	u64 regs[31];
	int syscallno;
#endif
};

#define PF_IO_WORKER 0x10	/* of io_uring's own threads */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct file;

struct socket {
	struct sock *sk;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

#endif
