/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * A server of one connection that receives and sends by io_uring, one entry at a time.
 *
 * Prints its port. A request is 32 bytes, the reply one. Ends with 77 where there is no io_uring.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port.h"

static struct io_uring_params about;
static unsigned char *sq, *cq;
static struct io_uring_sqe *entries;
static int ring;

static unsigned *at(unsigned char *base, unsigned offset)
{
	return (unsigned *)(base + offset);
}

/* Does one thing and waits for it. */
static int done(int op, int fd, void *bytes, unsigned size)
{
	unsigned tail = *at(sq, about.sq_off.tail), mask = *at(sq, about.sq_off.ring_mask), head;
	struct io_uring_sqe *entry = &entries[tail & mask];
	struct io_uring_cqe *answers = (void *)(cq + about.cq_off.cqes);
	int answer;

	memset(entry, 0, sizeof(*entry));
	entry->opcode = op;
	entry->fd = fd;
	entry->addr = (uintptr_t)bytes;
	entry->len = size;
	at(sq, about.sq_off.array)[tail & mask] = tail & mask;
	__atomic_store_n(at(sq, about.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0)
		return -1;
	head = *at(cq, about.cq_off.head);
	if (head == __atomic_load_n(at(cq, about.cq_off.tail), __ATOMIC_ACQUIRE))
		return -1;
	answer = answers[head & *at(cq, about.cq_off.ring_mask)].res;
	__atomic_store_n(at(cq, about.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return answer;
}

static void *map(size_t bytes, off_t offset)
{
	return mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
}

int main(void)
{
	int listener, one = 1;
	char bytes[32];

	ring = syscall(SYS_io_uring_setup, 8, &about);
	if (ring < 0)
		return 77;
	sq = map(about.sq_off.array + about.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map(about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	entries = map(about.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	listener = listen_and_print();
	if (listener < 0)
		return 1;
	for (;;) {
		int fd = accept(listener, 0, 0);

		setsockopt(fd, IPPROTO_TCP, 1, &one, sizeof(one));
		while (done(IORING_OP_RECV, fd, bytes, sizeof(bytes)) == sizeof(bytes))
			done(IORING_OP_SEND, fd, bytes, 1);
		close(fd);
	}
}
