/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * From a thread's id to its slot, without a search for nearly all.
 *
 * A slot is entered at the place that the low 16 bits of the id name. The slot holds the full id, so that
 * a thread with the same low bits is not taken for it. That one goes to one of the WAYS - 1 further places,
 * and the first place is marked: only who comes to a marked one, and does not find itself, looks further.
 * A place changes in one atomic step, because threads of several CPUs may come to it at once.
 *
 * Five threads whose ids agree in the low 16 bits are one too many: the last one has no slot. What includes
 * this has `thread_at()` and MAX_CPUS.
 */
#ifndef SOJOURN_SLOTS_H
#define SOJOURN_SLOTS_H

#define TIDS 65536
#define WAYS 4
#define WAY_STEP 24593		/* odd, and far: threads of a pool have ids in a row, and places side by side */
#define SLOT_SHARED (1 << 16)	/* another thread that belongs here is at a further place; never taken back */

u32 slot_of[TIDS];
/* By CPU, because several may be too late at once: whoever took it there could not enter it, and the next one there
 * has it; 0: there is none. */
u32 spare_slots[MAX_CPUS];

static __always_inline u32 *place_at(u32 at)
{
	return &slot_of[wrapped(at, TIDS)];
}

/* The slot that is entered there, 0: none is. */
static __always_inline u32 entered(u32 place)
{
	return wrapped(place, MAX_THREADS);
}

/* Its slot, if it is the thread's. */
static __always_inline u32 entered_of(u32 place, u32 tid)
{
	u32 slot = entered(place);

	return slot && thread_at(slot)->tid == tid ? slot : 0;
}

/* Slot of a thread whose first place has that of another one; 0: it has none. */
static __noinline u32 slot_further(u32 tid)
{
	u32 at = tid, slot;

	for (u32 n = 1; n < WAYS; n++) {
		at += WAY_STEP;
		slot = entered_of(*place_at(at), tid);
		if (slot)
			return slot;
	}
	return 0;
}

/* Slot of a thread that has been seen before; 0: it has none. */
static __always_inline u32 slot_seen(u32 tid)
{
	u32 place = *place_at(tid), slot = entered_of(place, tid);

	if (slot || !(place & SLOT_SHARED))
		return slot;
	return slot_further(tid);
}

/* Takes `slot` out of the places of its thread. */
static __noinline int places_left(u32 tid, u32 slot)
{
	u32 at = tid;

	for (u32 n = 0; n < WAYS; n++) {
		if (entered(*place_at(at)) == slot)
			__sync_fetch_and_and(place_at(at), SLOT_SHARED);
		at += WAY_STEP;
	}
	return 0;
}

/* The first of the thread's places where no slot is, if there is one. */
static __always_inline u32 free_place(u32 tid)
{
	u32 at = tid;

	for (u32 n = 1; n < WAYS && entered(*place_at(at)); n++)
		at += WAY_STEP;
	return at;
}

/* Enters a slot at a place without one. False: another thread was faster. */
static __always_inline bool enter_slot(u32 tid, u32 at, u32 slot)
{
	u32 place = *place_at(at) & SLOT_SHARED;

	if (__sync_val_compare_and_swap(place_at(at), place, place | slot) != place)
		return false;
	if (at != tid)
		__sync_fetch_and_or(place_at(tid), SLOT_SHARED);
	return true;
}

/* A slot for a thread that has none, of those counted in `taken_n`; with `is_anew` one that another thread may have
 * had. 0: all are in use, slots are at all of its places, or another thread took the first free one. */
static __always_inline u32 new_slot(u32 tid, u64 *taken_n, bool is_anew)
{
	u32 *spare = &spare_slots[wrapped(bpf_get_smp_processor_id(), MAX_CPUS)];
	u32 at = free_place(tid), slot = 0;

	if (entered(*place_at(at)))
		return 0;
	if (*spare)	/* atomic, because an interrupt may strike, and its hook look here */
		slot = __sync_lock_test_and_set(spare, 0);
	if (!slot && *taken_n < MAX_THREADS - 1)
		slot = 1 + __sync_fetch_and_add(taken_n, 1);
	if (!slot || slot >= MAX_THREADS)
		return 0;
	slot = wrapped(slot, MAX_THREADS);
	if (is_anew && thread_at(slot)->tid)
		places_left(thread_at(slot)->tid, slot);
	if (enter_slot(tid, at, slot))
		return slot;
	*spare = slot;
	return 0;
}

#endif
