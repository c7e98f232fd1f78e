/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* What the hooks of the black box and its user space both read and write. */
#ifndef SOJOURN_SLOW_H
#define SOJOURN_SLOW_H

#include "totals.h"

#define SLOW_PORT_WORDS (65536 / 64)

/* How far a connection is; under the socket's lock. */
struct asked {
	u64 first_ns;		/* the oldest request without a reply came then, or later; 0: there is none */
	u64 last_ns;		/* the newest bytes came then */
	u32 come_seq;		/* bytes up to here have come */
	u32 is_bound;		/* it may have come before first_ns */
	u32 replier;		/* process that replied last, in the kernel's own count; it is of the service */
	u32 together;		/* times that more bytes came since the last reply, after all before them had been read */
};

enum slow_kind { SLOW_REQUEST, SLOW_SIGNAL };

/* A slow request, or a signal that stops or ends a process of the service. */
struct slow {
	u64 start_ns;		/* CLOCK_MONOTONIC; of a signal: when it was sent */
	u64 total_ns;
	u64 connection;		/* its socket's cookie */
	u32 kind;
	u32 tid;		/* that replied; of a signal: the sender */
	u32 tgid;
	u32 bytes;		/* of the first write of the reply; of a signal: its number */
	u16 peer_port;
	u16 port;
	u32 target;		/* of a signal: the process that it was sent to */
	char comm[16];		/* of this thread: it may have ended when this is read */
};

/* A write of a reply, where each one is reported: no more than the times need, because every byte costs the
 * service. Its size says what it is. */
struct timed {
	u64 start_ns;		/* CLOCK_MONOTONIC; 0: this is more of a reply */
	u64 at_ns;		/* when it was written */
	u64 connection;		/* its socket's cookie */
};

/* Written by user space at any time. */
struct slow_control {
	u64 is_enabled;
	u64 floor_ns;		/* shorter requests are counted, and not sent */
	u64 ports[SLOW_PORT_WORDS];	/* a bit for each port of the service */
};

/* Written by the hooks; atomic. */
struct slow_counts {
	u64 dropped;		/* slow requests for which the ring had no room */
	u64 foreign;		/* requests that other processes replied to; in no other count */
	u64 untracked;		/* requests on connections for which there was no memory */
	u64 together;		/* times that more bytes came on a connection before the reply to what had come */
	u64 lower_bounds;	/* of the requests in totals, those that may have come before they were timed */
	u64 totals[TOTAL_BINS];	/* all requests by total */
};

#endif
