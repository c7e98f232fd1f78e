/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* System calls: which one a thread is in, what kind it is, and what a read has brought. */
#ifndef SOJOURN_CALLS_H
#define SOJOURN_CALLS_H

/* What the call of `task` with the number `id` is: its entry in `syscall_class`. */
static __always_inline u32 class_of(struct task_struct *task, struct pt_regs *regs, long id)
{
	bool is_other = is_foreign(task, id);
	u64 index = id;
	u32 class;

	if (is_other)
		index = native_of(settings.native, regs, id);
	class = is_below(&index, MAX_SYSCALL) ? settings.syscall_class[index] : SYS_OTHER;
	return is_other ? class & (SYS_HAS_BUFFER - 1) : class;	/* its arguments are elsewhere */
}

static __always_inline long syscall_of(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (long)regs->orig_ax;
#else
	return regs->syscallno;
#endif
}

/* What the system call is that a task is in; NO_CALL: it is in none. */
static __always_inline u32 class_in(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	long id = regs ? syscall_of(regs) : -1;

	return id < 0 ? NO_CALL : class_of(task, regs, id);
}

static __always_inline u64 second_argument(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->si;
#else
	return regs->regs[1];
#endif
}

/* Where a read puts its bytes, 0 if that cannot be told. */
static __always_inline u64 buffer_of(u32 argument, u64 address)
{
	if (argument == SYS_HAS_MSGHDR &&
	    bpf_probe_read_user(&address, sizeof(address), (void *)address + MSGHDR_IOVEC))
		return 0;
	if (argument != SYS_HAS_BUFFER && bpf_probe_read_user(&address, sizeof(address), (void *)address))
		return 0;
	return address;
}

/* The first bytes of what a read brought: of a thread's `number`-th one that is looked into. */
static __noinline int look_into(u64 number, u32 argument, u64 address, u64 bytes)
{
	u32 key = wrapped(number, PEEKS);
	struct peek *peek = bpf_map_lookup_elem(&peeks, &key);
	u64 shown = bytes < PEEK_BYTES ? bytes : PEEK_BYTES;

	if (!peek || !is_below(&shown, PEEK_BYTES + 1))
		return 0;
	peek->bytes = 0;
	if (bpf_probe_read_user(peek->text, shown, (void *)buffer_of(argument, address)))
		return 0;
	peek->shown = shown;
	peek->bytes = bytes;
	return 0;
}

#endif
