/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * A server of one connection whose calls are those of a 32-bit process (int 0x80): read, nanosleep, write.
 *
 * Prints its port. A request is 32 bytes; bytes 8 to 11 say how long it sleeps, us; the reply is one byte.
 * Ends with 77 where the kernel takes no such calls.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"

enum { READ32 = 3, WRITE32 = 4, GETPID32 = 20, NANOSLEEP32 = 162 };

static long call32(long number, long a, long b, long c)
{
	long answer;

	asm volatile("int $0x80" : "=a"(answer) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return answer;
}

static void refused(int signal)
{
	_exit(77);
}

int main(void)
{
	int listener, one = 1;
	/* Where 32 bits reach. */
	unsigned char *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int32_t *length = (int32_t *)(low + 64), got;
	uint32_t us;

	signal(SIGSEGV, refused);
	if (low == MAP_FAILED || call32(GETPID32, 0, 0, 0) != getpid())
		return 77;
	listener = listen_and_print();
	if (listener < 0)
		return 1;
	for (;;) {
		int fd = accept(listener, 0, 0);

		setsockopt(fd, IPPROTO_TCP, 1, &one, sizeof(one));
		while ((got = call32(READ32, fd, (long)low, 32)) == 32) {
			memcpy(&us, low + 8, sizeof(us));
			length[0] = us / 1000000;
			length[1] = us % 1000000 * 1000;
			call32(NANOSLEEP32, (long)length, 0, 0);
			call32(WRITE32, fd, (long)low, 1);
		}
		close(fd);
	}
}
