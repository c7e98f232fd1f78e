/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Numbers of system calls of another ABI, as those of the kernel's own.
 *
 * A process of 32 bits has other numbers for its calls, and one of 64 bits may make such calls too
 * (int 0x80), so each call says of itself which it is. `src/attach/compat.rs` fills the table: by the number;
 * socketcall of ia32, which is twenty calls, by its first argument from SOCKETCALL_AT on.
 */
#ifndef SOJOURN_COMPAT_H
#define SOJOURN_COMPAT_H

#define SOCKETCALL 102		/* of ia32 */
#define SOCKETCALL_AT 480
#define SOCKETCALLS 21
#define X32_BIT 0x40000000
#define X32_AT 512		/* from here on x32 has numbers of its own; below, those of 64 bits */
#define TS_COMPAT 0x02
#define TIF_32BIT (1 << 22)	/* of arm64 */
#define NO_CALL 0xffff		/* of a number that no table has */

/* Is the call that `task` is in one of another ABI? `id` is its number. */
static __always_inline bool is_foreign(struct task_struct *task, long id)
{
#if defined(__TARGET_ARCH_x86)
	return (id > 0 && id & X32_BIT) || task->thread_info.status & TS_COMPAT;
#else
	return task->thread_info.flags & TIF_32BIT;
#endif
}

/* Its number as the kernel's own ABI has it; `table`: of OTHER_ABI numbers. */
static __always_inline long native_of(const volatile u16 *table, struct pt_regs *regs, long id)
{
	u64 index = id;

#if defined(__TARGET_ARCH_x86)
	if (id & X32_BIT) {
		index = id & ~(long)X32_BIT;
		if (index < X32_AT)
			return index;
	} else if (id == SOCKETCALL && regs->bx < SOCKETCALLS) {
		index = SOCKETCALL_AT + regs->bx;
	}
#endif
	return is_below(&index, OTHER_ABI) ? table[index] : NO_CALL;
}

#endif
