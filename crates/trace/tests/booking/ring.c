/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The hooks of the black box as a plain program, on one connection of a service: see world.c.
 *
 * Standard input holds events, one to a line: TIME in us, VERB, BYTES, and
 *
 *   come N   bytes reach the connection
 *   take N   the service reads them
 *   send N   it sends, in a call
 *   other N  a process of another service sends, on a port of the same number
 *   fin 0    the client has sent all
 *   exit N   a thread of the service ends, and leaves N others
 *   signal N the service is sent this signal
 *   ignored N  the same; the service ignores it
 *
 * Standard output: a line `request` for each (start and total, us), a line `signal` for each (its number), and one line
 * `counts` (together, lower_bounds, requests in the totals, foreign).
 */
#include <stdio.h>
#include <string.h>

#include "slow.bpf.c"

enum { PID = 1000, OTHER = 2000 };

const volatile struct slow_settings slow_settings = { 0 };

static struct { struct sock sk; struct tcp_sock tp; } one;	/* the hooks are given the address of its first field */
static struct asked asked_here;
static struct slow slow_here;
static struct signal_struct threads;
static struct task_struct service = { .tgid = PID, .signal = &threads };
static u32 is_there = 1;
static unsigned long long now_us, here = PID;

u64 bpf_ktime_get_ns(void) { return now_us * 1000; }
u64 bpf_get_current_pid_tgid(void) { return here << 32 | here; }
u64 bpf_get_socket_cookie(const void *sk) { return 1; }
struct task_struct *bpf_get_current_task_btf(void) { return 0; }
long bpf_get_current_comm(void *to, u32 bytes) { return -1; }
long bpf_probe_read_kernel(void *to, u32 bytes, const void *from) { return -1; }
struct tcp_sock *bpf_skc_to_tcp_sock(const void *sk) { return &one.tp; }
void *bpf_sk_storage_get(const void *map, const void *sk, void *value, u64 flags) { return &asked_here; }
long bpf_map_update_elem(const void *map, const void *key, const void *value, u64 flags) { return -1; }

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	return map == &tgids && *(const u32 *)key == PID && is_there ? &is_there : 0;
}

long bpf_map_delete_elem(const void *map, const void *key)
{
	is_there &= map != &tgids || *(const u32 *)key != PID;
	return 0;
}

void *bpf_ringbuf_reserve(const void *ring, u64 bytes, u64 flags) { return &slow_here; }

void bpf_ringbuf_submit(void *submitted, u64 flags)
{
	if (slow_here.kind == SLOW_SIGNAL)
		printf("signal %u\n", slow_here.bytes);
	else
		printf("request %llu %llu\n", slow_here.start_ns / 1000, slow_here.total_ns / 1000);
}

static int event(const char *verb, u32 bytes)
{
	if (!strcmp(verb, "come")) {
		one.tp.rcv_nxt += bytes;
		one.tp.tcp_clock_cache = now_us * 1000;
		slow_ready(&one.sk);
	} else if (!strcmp(verb, "take")) {
		one.tp.copied_seq += bytes;
	} else if (!strcmp(verb, "send") || !strcmp(verb, "other")) {
		here = *verb == 's' ? PID : OTHER;
		one.tp.tcp_clock_cache = now_us * 1000;
		slow_sent(&one.sk, bytes);
	} else if (!strcmp(verb, "fin")) {
		one.tp.rcv_nxt++;
		one.sk.__sk_common.skc_state = TCP_CLOSE_WAIT;
		slow_ready(&one.sk);
	} else if (!strcmp(verb, "exit")) {
		threads.live.counter = bytes;
		slow_exit(&service);
	} else if (!strcmp(verb, "signal") || !strcmp(verb, "ignored")) {
		slow_signal(bytes, 0, &service, 1, *verb == 'i');
	} else {
		return 1;
	}
	return 0;
}

int main(void)
{
	unsigned long long requests = 0;
	char line[128], verb[16];
	u32 bytes;

	slow_control.is_enabled = 1;
	slow_control.ports[80 >> 6] = 1ULL << (80 & 63);
	one.sk.__sk_common.skc_state = TCP_ESTABLISHED;
	one.sk.__sk_common.skc_num = 80;
	one.tp.rcv_nxt = one.tp.copied_seq = ~0U - 50;	/* sequence numbers wrap */
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%llu %15s %u", &now_us, verb, &bytes) < 3)
			continue;
		if (event(verb, bytes)) {
			fprintf(stderr, "what is this: %s", line);
			return 2;
		}
	}
	for (u32 bin = 0; bin < TOTAL_BINS; bin++)
		requests += slow_counts.totals[bin];
	printf("counts %llu %llu %llu %llu\n", slow_counts.together, slow_counts.lower_bounds, requests,
	       slow_counts.foreign);
	return 0;
}
