/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * A sample of flows: those whose peer's port hashes below a bound, with a salt that user space draws
 * anew all the time. All others leave every hook at once.
 *
 * Whether a request is in the sample is decided when its first segment arrives, whatever comes later:
 * else long requests would be in it more often than short ones. So a flow that has left the sample is
 * followed until its last request has ended, and what arrives on it meanwhile is marked as outside. How
 * many connections of each port are followed is kept in a table: looking there costs one load, and two
 * clients with the same port do not disturb each other. Where all flows are traced (sample_below is 0)
 * the verifier drops all of this.
 */
#ifndef SOJOURN_SAMPLE_H
#define SOJOURN_SAMPLE_H

u32 flows[65536];	/* connections that are followed, by the peer's port; atomic */

static __always_inline u16 peer_port_of(const struct sock *sk)
{
	return __builtin_bswap16(sk->__sk_common.skc_dport);
}

/* Is the flow in the sample now? Source of the mixing: MurmurHash3's finaliser. */
static __always_inline bool is_chosen(u16 peer_port)
{
	u32 hash = peer_port ^ (u32)control.salt;

	if (!settings.sample_below)
		return true;
	hash = (hash ^ hash >> 16) * 0x85ebca6b;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35;
	return (hash ^ hash >> 16) < settings.sample_below;
}

/* Is a connection of this one's port followed? */
static __always_inline bool is_followed(const struct sock *sk)
{
	return is_ours(sk) && (!settings.sample_below || flows[wrapped(peer_port_of(sk), 65536)]);
}

/* The same, or one that may begin to be. */
static __always_inline bool is_wanted(const struct sock *sk)
{
	return is_ours(sk) && (!settings.sample_below || flows[wrapped(peer_port_of(sk), 65536)] ||
			       is_chosen(peer_port_of(sk)));
}

static __always_inline void follow(const struct conn *c)
{
	if (settings.sample_below)
		__sync_fetch_and_add(&flows[wrapped(c->peer_port, 65536)], 1);
}

/* It is not known any more, and where it is seen again it is new. */
static __always_inline void leave(struct conn *c)
{
	if (!settings.sample_below)
		return;
	c->epoch = 0;
	__sync_fetch_and_add(&flows[wrapped(c->peer_port, 65536)], -1);
}

/* Leaves a flow that is not in the sample any more, once nothing of it is open. */
static __always_inline void leave_if_done(struct conn *c)
{
	if (settings.sample_below && c->seg_push == c->seg_pop && !is_chosen(c->peer_port) &&
	    (c->req.state == IDLE || c->req.state == LOST))
		leave(c);
}

#endif
