// SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0)
/*
 * Where the time of each request goes, ns: from the wire to the reply's last segment at the driver.
 *
 * Included: every request that a traced thread reads from a TCP socket on a traced port. Not
 * included: accepting connections, UDP, Unix sockets, and what the client and the wire do.
 * On loopback the sender's softIRQ runs the receiver's half of the stack, so the hooks below `tcp`
 * fire in the client's context and look only at the socket, never at the current task.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bounds.h"
#include "shapes.h"
#include "state.h"
#include "window.h"
#include "sample.h"
#include "pids.h"
#include "compat.h"
#include "calls.h"
#include "threads.h"
#include "aggregate.h"
#include "request.h"
#include "few.h"
#include "arrive.h"
#include "serve.h"
#include "reply.h"
#include "sched.h"
#include "beside.h"
#include "look.h"

char licence[] SEC("license") = "Dual BSD/GPL";
