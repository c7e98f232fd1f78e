/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * A server that starts a process for each connection, which answers one request and ends.
 *
 * Prints its port. A request is 32 bytes, the reply one.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"

static void answer(int fd)
{
	char request[32];
	ssize_t n, all = 0;

	while (all < (ssize_t)sizeof(request)) {
		n = read(fd, request + all, sizeof(request) - all);
		if (n <= 0)
			return;
		all += n;
	}
	if (write(fd, "r", 1) != 1)
		perror("write");
}

int main(void)
{
	int listener = listen_and_print();

	signal(SIGCHLD, SIG_IGN);	/* so that no process waits to be collected */
	if (listener < 0)
		return 1;
	for (;;) {
		int fd = accept(listener, 0, 0);

		if (fork() == 0) {
			answer(fd);
			_exit(0);
		}
		close(fd);
	}
}
