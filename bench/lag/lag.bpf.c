/* The scheduler's account of one service: lag, weight and protection at each wake-up (see run.py).
 *
 * The service's entity is its control group's, one level above its thread. Names of fields are those of
 * Linux 6.18.44; a kernel that names them otherwise refuses to load this. */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct load_weight {
	unsigned long weight;
};
struct cfs_rq;
struct sched_entity {
	struct load_weight load;
	__u64 deadline;
	unsigned char on_rq;
	__u64 vruntime;
	__s64 vlag;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};
struct cfs_rq {
	__s64 sum_w_vruntime;
	__u64 sum_weight;
	__u64 zero_vruntime;
	struct sched_entity *curr;
};
struct task_struct {
	int tgid;
	struct sched_entity se;
};
#pragma clang attribute pop

struct wake {
	__u64 at_ns, delay_ns;
	__s64 lag_ns, stored_lag_ns, slice_left_ns;
	__u64 weight, running_weight;
	/* Whether another entity of the same group ran. */
	__u64 is_beside;
};

const volatile int service = 0;
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} wakes SEC(".maps");
/* The service has one thread on one CPU, so that one wake-up is pending at most. */
struct wake pending;
int is_pending;

static __s64 divided(__s64 value, __s64 by)
{
	return value >= 0 ? (__s64)((__u64)value / (__u64)by) : -(__s64)((__u64)-value / (__u64)by);
}

/* V - v of an entity, ns of virtual time: V is the queue's average with whoever runs. */
static __s64 lag_of(struct cfs_rq *queue, struct sched_entity *entity)
{
	__s64 sum = queue->sum_w_vruntime, weight = queue->sum_weight;
	struct sched_entity *running = queue->curr;

	if (running && running->on_rq) {
		__s64 of_it = running->load.weight >> 10;

		sum += (__s64)(running->vruntime - queue->zero_vruntime) * of_it;
		weight += of_it;
	}
	return (weight > 0 ? divided(sum, weight) : 0) + (__s64)(queue->zero_vruntime - entity->vruntime);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wake, struct task_struct *task)
{
	if (task->tgid != service || !task->se.parent)
		return 0;
	struct sched_entity *entity = task->se.parent;
	struct sched_entity *running = entity->cfs_rq->curr;
	struct wake wake = {
		.at_ns = bpf_ktime_get_ns(),
		.lag_ns = lag_of(entity->cfs_rq, entity),
		.stored_lag_ns = entity->vlag,
		.weight = entity->load.weight >> 10,
	};

	if (running && running != entity) {
		wake.is_beside = 1;
		wake.running_weight = running->load.weight >> 10;
		wake.slice_left_ns = running->deadline - running->vruntime;
	}
	pending = wake;
	is_pending = 1;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (next->tgid == service && is_pending) {
		is_pending = 0;
		pending.delay_ns = bpf_ktime_get_ns() - pending.at_ns;
		bpf_ringbuf_output(&wakes, &pending, sizeof(pending), 0);
	}
	return 0;
}

char GPL[] SEC("license") = "GPL";
