/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Processes of the service: requests and threads of others are left out. A service may start one for each
 * connection. The hooks of the black box and of --times remove those that end; a trace of stages removes none.
 */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);	/* processes of the service */
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} tgids SEC(".maps");
