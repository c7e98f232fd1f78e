/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The hooks of a look at who runs on a CPU, CPU 0, as a plain program: see world.c.
 *
 * Standard input holds events, one to a line: TIME in us, VERB, A, B, and
 *
 *   begin, end     of the look
 *   switch A B     task A leaves the CPU, and B comes to it; 0 is the idle one
 *   runs A         A runs there, and no switch said so
 *   sample         a clock ticks there
 *
 * Standard output: a line `task` for each that has run (its number, and for how long, us), and one line `cpu` (the task
 * that is known to be there, 0: none, since when, and the time of no known task, us).
 */
#include <stdio.h>
#include <string.h>

#include "who.bpf.c"

enum { TASKS = 8 };

const volatile struct who_settings who_settings = { .cpus = { 1 }, .long_ns = 300000 };

static struct task_struct tasks[TASKS];
static struct who_task entries[TASKS];
static bool has_entry[TASKS];
static u32 runs;
static unsigned long long now_us;

u64 bpf_ktime_get_ns(void) { return now_us * 1000; }
u32 bpf_get_smp_processor_id(void) { return 0; }
u64 bpf_get_current_pid_tgid(void) { return (u64)runs << 32 | runs; }
struct task_struct *bpf_get_current_task_btf(void) { return &tasks[runs]; }
long bpf_probe_read_kernel(void *to, u32 bytes, const void *from) { memcpy(to, from, bytes); return 0; }

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	u32 task = *(const u32 *)key;

	return map == &who_tasks && has_entry[task] ? &entries[task] : 0;
}

long bpf_map_update_elem(const void *map, const void *key, const void *value, u64 flags)
{
	u32 task = *(const u32 *)key;

	entries[task] = *(const struct who_task *)value;
	has_entry[task] = 1;
	return 0;
}

static int event(const char *verb, u32 a, u32 b)
{
	if (!strcmp(verb, "begin")) {
		who_control.started_ns = now_us * 1000;
	} else if (!strcmp(verb, "end")) {
		who_control.ended_ns = now_us * 1000;
	} else if (!strcmp(verb, "switch")) {
		who_switch(0, &tasks[a], &tasks[b]);
		runs = b;
	} else if (!strcmp(verb, "runs")) {
		runs = a;
	} else if (!strcmp(verb, "sample")) {
		who_sample(0);
	} else {
		return 1;
	}
	return 0;
}

int main(void)
{
	struct who_cpu *cpu = &who_cpus[0];
	char line[128], verb[16];

	for (u32 i = 0; i < TASKS; i++)
		tasks[i] = (struct task_struct){ .pid = i, .tgid = i };
	while (fgets(line, sizeof(line), stdin)) {
		u32 a = 0, b = 0;

		if (sscanf(line, "%llu %15s %u %u", &now_us, verb, &a, &b) < 2)
			continue;
		if (event(verb, a, b)) {
			fprintf(stderr, "what is this: %s", line);
			return 2;
		}
	}
	for (u32 i = 1; i < TASKS; i++)
		if (has_entry[i])
			printf("task %u %llu\n", i, entries[i].run_ns / 1000);
	printf("cpu %u %llu %llu\n", cpu->is_known ? cpu->tid : 0, cpu->in_ns / 1000, cpu->unseen_ns / 1000);
	return 0;
}
