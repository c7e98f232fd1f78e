// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * Loaded by nobody: names the structs that user space reads or writes, so that their types stand in
 * this object's BTF, from which `build.rs` takes where their fields lie. See `../../layout.rs`.
 */
#include "kernel.h"
#include "shapes.h"
#include "told.h"
#include "who.h"
#include "slow.h"

#define SHARED(type) struct type *layout_##type

SHARED(row);
SHARED(thread);
SHARED(tally);
SHARED(peek);
SHARED(conn_line);
SHARED(settings);
SHARED(control);
SHARED(record);
SHARED(told);
SHARED(culprit_control);
SHARED(culprit_counts);
SHARED(who_cpu);
SHARED(who_task);
SHARED(slow);
SHARED(timed);
SHARED(slow_control);
SHARED(slow_counts);
