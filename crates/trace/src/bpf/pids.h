/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Numbers of threads and processes as the tracer's user sees them.
 *
 * In a container they are not the kernel's own: a task has one in its PID namespace, and one in each of
 * those above. What includes this says by `pid_ns()` whose are meant: the namespace's inode number, 0 for
 * the machine's own, which the verifier knows, so that nothing of the rest is left there.
 */
#ifndef SOJOURN_PIDS_H
#define SOJOURN_PIDS_H

#define OUTSIDE 0x80000000	/* with the kernel's own number: of a task that the namespace does not hold */
#define NESTED 4		/* a task may be in a namespace so many levels below */

/* The number of `pid` there; 0: it has none. */
static __noinline u32 number_there(struct pid *pid)
{
	struct pid_namespace *ns;
	u32 level, inum;
	struct upid at;

	if (bpf_probe_read_kernel(&level, sizeof(level), &pid->level))
		return 0;
	for (u32 up = 0; up < NESTED && up <= level; up++) {
		if (bpf_probe_read_kernel(&at, sizeof(at), (void *)&pid->numbers[0] + (level - up) * sizeof(at)))
			return 0;
		ns = at.ns;
		if (bpf_probe_read_kernel(&inum, sizeof(inum), &ns->ns.inum))
			return 0;
		if (inum == pid_ns())
			return at.nr;
	}
	return 0;
}

/* Of a thread, `kernels` in the kernel's own count; 0: the idle task. */
static __always_inline u32 tid_of(struct task_struct *task)
{
	u32 kernels = task->pid, number;

	if (!pid_ns() || !kernels)
		return kernels;
	number = number_there(task->thread_pid);
	return number ? number : kernels | OUTSIDE;
}

/* Of its process. */
static __always_inline u32 tgid_of(struct task_struct *task)
{
	u32 kernels = task->tgid, number;

	if (!pid_ns() || !kernels)
		return kernels;
	number = number_there(task->group_leader->thread_pid);
	return number ? number : kernels | OUTSIDE;
}

/* Of the thread that is current. */
static __always_inline u32 tid_here(void)
{
	return pid_ns() ? tid_of(bpf_get_current_task_btf()) : (u32)bpf_get_current_pid_tgid();
}

static __always_inline u32 tgid_here(void)
{
	return pid_ns() ? tgid_of(bpf_get_current_task_btf()) : bpf_get_current_pid_tgid() >> 32;
}

#endif
