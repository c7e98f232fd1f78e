/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* The listening socket of a server on loopback, at a port that the kernel picks. */
#ifndef SOJOURN_PORT_H
#define SOJOURN_PORT_H

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

/* Prints the port. Returns the socket, or -1. */
static int listen_and_print(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (void *)&at, size) || listen(listener, 8) || getsockname(listener, (void *)&at, &size))
		return -1;
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	return listener;
}

#endif
