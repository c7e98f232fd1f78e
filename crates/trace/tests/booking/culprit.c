/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * The culprit's hooks as a plain program: see world.c.
 *
 * Standard input holds events, one to a line: TIME in us, VERB, and
 *
 *   switch CPU A B   A leaves the CPU, runnable, and B comes to it
 *   asleep CPU A B   the same, and A goes to sleep
 *   runs CPU A       A runs there, and no switch said so
 *   waking CPU A     A is woken from there
 *   placed CPU A     A is taken to that CPU while it is being woken
 *   moved CPU A      A is taken to that CPU while it waits for another one
 *   softirq CPU A    a softIRQ is served there for A us
 *   late CPU A B     for the next A threads that are entered: another one has just taken their place. Before the first
 *                    of them learns that, B (0: none) comes to the next CPU, which has been idle
 *
 * Tasks from 1 to 7 are threads of the service, those from 8 on are not, and 0 is the idle one.
 *
 * Standard output: a line for each report (`off` TASK CPU, from, woken, here and to in us; `run` TASK CPU, from and
 * to; `irq` TASK CPU, how long), and one line `slots`, how many threads have.
 */
#include <stdio.h>
#include <string.h>

static int is_too_late(void);
static void *ctx;

/* Nothing is asked of control groups and files. */
#define BPF_CORE_READ(from, ...) 0
#define bpf_core_enum_value_exists(type, value) 0
#define bpf_core_enum_value(type, value) 0
#define bpf_core_field_offset(type, field) 0
#define __sync_val_compare_and_swap(at, was, is) \
	(is_too_late() ? ~(was) : __sync_val_compare_and_swap(at, was, is))

#include "culprit.bpf.c"

enum { SERVICE = 1000, OTHERS = 9000, OWN = 8, TASKS = 16, CPUS = 4, WAKING = 0x200, VECTOR = 3 };

const volatile struct culprit_settings culprit_settings = {
	.floor_ns = 20000, .irq_ns = 40000, .run_ns = 1000, .group_ns = ~0ULL,
};

static struct task_struct tasks[TASKS];
static struct pt_regs regs;
static struct told told_now;
static u32 cpu_now, runs_on[CPUS];
static u32 too_late, comes_too;	/* threads, and the task that comes to the next CPU with the first of them */
static unsigned long long now_us;

u64 bpf_ktime_get_ns(void) { return now_us * 1000; }
u32 bpf_get_smp_processor_id(void) { return cpu_now; }
struct task_struct *bpf_get_current_task_btf(void) { return &tasks[runs_on[cpu_now]]; }
long bpf_get_current_comm(void *to, u32 bytes) { return -1; }
long bpf_get_stackid(void *context, const void *map, u64 flags) { return -1; }
long bpf_task_pt_regs(const void *task) { return (long)&regs; }
long bpf_probe_read_kernel(void *to, u32 bytes, const void *from) { memcpy(to, from, bytes); return 0; }
long bpf_probe_read_kernel_str(void *to, u32 bytes, const void *from) { return -1; }
void *bpf_ringbuf_reserve(const void *ring, u64 bytes, u64 flags) { return &told_now; }

u64 bpf_get_current_pid_tgid(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (u64)task->tgid << 32 | task->pid;
}

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	static u32 is_there = 1;

	return map == &tgids && *(const u32 *)key == SERVICE ? &is_there : 0;
}

void bpf_ringbuf_submit(void *submitted, u64 flags)
{
	const struct told *it = submitted;
	u32 task = it->tid % 1000;

	if (it->kind == TOLD_OFF)
		printf("off %u %u %llu %llu %llu %llu\n", task, it->cpu, it->from_ns / 1000, it->woken_ns / 1000,
		       it->here_ns / 1000, it->to_ns / 1000);
	else if (it->kind == TOLD_RUN)
		printf("run %u %u %llu %llu\n", task, it->cpu, it->from_ns / 1000, it->to_ns / 1000);
	else
		printf("irq %u %u %llu\n", task, it->cpu, it->woken_ns / 1000);
}

static int is_too_late(void)
{
	u32 task = comes_too;

	if (!too_late)
		return 0;
	too_late--;
	if (task) {
		comes_too = 0;
		cpu_now++;
		culprit_switch(0, &tasks[0], &tasks[task]);
		runs_on[cpu_now--] = task;
	}
	return 1;
}

static int event(const char *verb, u32 a, u32 b)
{
#define is(name) (!strcmp(verb, name))
	if (is("switch") || is("asleep")) {
		tasks[a].__state = is("asleep");
		tasks[b].__state = TASK_RUNNING;
		culprit_switch(0, &tasks[a], &tasks[b]);
		runs_on[cpu_now] = b;
	} else if (is("runs")) {
		runs_on[cpu_now] = a;
	} else if (is("waking")) {
		culprit_waking(&tasks[a]);
	} else if (is("placed") || is("moved")) {
		tasks[a].__state = is("placed") ? WAKING : TASK_RUNNING;
		culprit_migrate(&tasks[a], cpu_now);
	} else if (is("softirq")) {
		culprit_softirq(VECTOR);
		now_us += a;
		culprit_softirq_end(VECTOR);
	} else if (is("late")) {
		too_late = a;
		comes_too = b;
	} else {
		return 1;
	}
	return 0;
}

int main(void)
{
	char line[128], verb[16];

	culprit_control.is_enabled = culprit_control.epoch = 1;
	for (u32 i = 1; i < TASKS; i++)
		tasks[i] = (struct task_struct){
			.pid = (i < OWN ? SERVICE : OTHERS) + i, .tgid = i < OWN ? SERVICE : OTHERS + i,
		};
	while (fgets(line, sizeof(line), stdin)) {
		u32 a = 0, b = 0;

		if (sscanf(line, "%llu %15s %u %u %u", &now_us, verb, &cpu_now, &a, &b) < 4)
			continue;
		if (event(verb, a, b)) {
			fprintf(stderr, "what is this: %s", line);
			return 2;
		}
	}
	printf("slots %llu\n", culprit_counts.threads_n);
	return 0;
}
