/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * Put before a server's C library (LD_PRELOAD): pauses before every so manieth read or write of a TCP
 * connection, and writes down each pause in a file that its parent reads. The truth for a tracer.
 *
 *   SHIM_CALL   read or write; a read counts if bytes are there for it
 *   SHIM_HOW    sleep or spin
 *   SHIM_EVERY  calls from one pause to the next, over all threads and processes
 *   SHIM_NS     length of a pause
 *   SHIM_LOG    a file as large as `struct log`; mapped, so that to write it is no system call
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAUSES = 4096 };
enum call { READ = 1, WRITE, SENDFILE };

struct pause {
	uint64_t begin_ns;	/* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint32_t peer_port;
	uint32_t call;
};

struct log {
	uint64_t calls;
	uint64_t due;		/* pauses that wait for a call that counts */
	uint64_t pauses;	/* made so far */
	struct pause pause[PAUSES];
};

static struct log *shared;
static uint64_t every, length_ns;
static int spins, reads;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SHIM_LOG");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	every = strtoull(getenv("SHIM_EVERY"), 0, 10);
	length_ns = strtoull(getenv("SHIM_NS"), 0, 10);
	spins = !strcmp(getenv("SHIM_HOW"), "spin");
	reads = !strcmp(getenv("SHIM_CALL"), "read");
	shared = mmap(0, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		shared = 0;
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);	/* no system call: in the vDSO */
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void pause_here(struct pause *pause)
{
	struct timespec length = { .tv_nsec = length_ns };

	pause->begin_ns = now_ns();
	if (spins)
		while (now_ns() - pause->begin_ns < length_ns)
			;
	else
		nanosleep(&length, 0);
	pause->end_ns = now_ns();
}

/* A call is about to be made; now and then it has to wait. */
static void before(int fd, enum call call)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	struct pause pause = { .call = call };
	uint64_t due, n;
	int bytes = 0;

	if (!shared || (call == READ) != reads)
		return;
	if (__atomic_add_fetch(&shared->calls, 1, __ATOMIC_RELAXED) % every == 0)
		__atomic_add_fetch(&shared->due, 1, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&shared->due, __ATOMIC_RELAXED))
		return;
	if (getpeername(fd, (struct sockaddr *)&peer, &size) || peer.sin_family != AF_INET)
		return;
	if (reads && (ioctl(fd, FIONREAD, &bytes) || bytes <= 0))
		return;
	do {
		due = __atomic_load_n(&shared->due, __ATOMIC_RELAXED);
		if (!due)
			return;
	} while (!__atomic_compare_exchange_n(&shared->due, &due, due - 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	pause.peer_port = ntohs(peer.sin_port);
	pause_here(&pause);
	n = __atomic_fetch_add(&shared->pauses, 1, __ATOMIC_RELAXED);
	if (n < PAUSES)
		shared->pause[n] = pause;
}

ssize_t read(int fd, void *to, size_t bytes)
{
	before(fd, READ);
	return syscall(SYS_read, fd, to, bytes);
}

ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
	before(fd, READ);
	return syscall(SYS_recvfrom, fd, to, bytes, flags, 0, 0);
}

ssize_t recvfrom(int fd, void *to, size_t bytes, int flags, __SOCKADDR_ARG from, socklen_t *size)
{
	before(fd, READ);
	return syscall(SYS_recvfrom, fd, to, bytes, flags, from.__sockaddr__, size);
}

ssize_t readv(int fd, const struct iovec *to, int n)
{
	before(fd, READ);
	return syscall(SYS_readv, fd, to, n);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
	before(fd, WRITE);
	return syscall(SYS_write, fd, from, bytes);
}

ssize_t writev(int fd, const struct iovec *from, int n)
{
	before(fd, WRITE);
	return syscall(SYS_writev, fd, from, n);
}

ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
	before(fd, WRITE);
	return syscall(SYS_sendto, fd, from, bytes, flags, 0, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	before(fd, WRITE);
	return syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t bytes)
{
	before(to, SENDFILE);
	return syscall(SYS_sendfile, to, from, offset, bytes);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes)
{
	before(to, SENDFILE);
	return syscall(SYS_sendfile, to, from, offset, bytes);
}
