/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/*
 * A server that starts a process for each connection, which answers one request and ends.
 *
 * Prints its port. A request is 32 bytes, the reply one.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

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
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	signal(SIGCHLD, SIG_IGN);	/* so that no process waits to be collected */
	if (bind(listener, (void *)&at, size) || listen(listener, 8) || getsockname(listener, (void *)&at, &size))
		return 1;
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int fd = accept(listener, 0, 0);

		if (fork() == 0) {
			answer(fd);
			_exit(0);
		}
		close(fd);
	}
}
