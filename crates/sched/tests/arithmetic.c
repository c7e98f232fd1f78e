/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* The scheduler's arithmetic as a program: a line is a function and its numbers, its answer a line. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int64_t s64;
typedef uint64_t u64;

#include "../src/bpf/arithmetic.h"

int main(void)
{
	char name[32];
	long long a, b, c, d;

	while (scanf("%31s %lld %lld %lld %lld", name, &a, &b, &c, &d) == 5) {
		long long answer = 0;

		if (!strcmp(name, "cost"))
			answer = cost(a, b);
		else if (!strcmp(name, "real_ns"))
			answer = real_ns(a, b);
		else if (!strcmp(name, "effective"))
			answer = effective(a, b);
		else if (!strcmp(name, "before"))
			answer = before(a, b);
		else if (!strcmp(name, "later"))
			answer = later(a, b);
		else if (!strcmp(name, "place"))
			answer = place(a, b, c);
		else if (!strcmp(name, "preempts"))
			answer = preempts(a, b, c);
		else if (!strcmp(name, "overtaken_ns"))
			answer = overtaken_ns(a, b, c, d);
		else if (!strcmp(name, "warp_left"))
			answer = warp_left(a, b, c);
		else if (!strcmp(name, "advanced"))
			answer = advanced(a, b, c);
		else if (!strcmp(name, "moved"))
			answer = moved(a, b, c);
		else if (!strcmp(name, "weight_of"))
			answer = weight_of(a, b);
		else
			return 1;
		printf("%lld\n", answer);
	}
	return 0;
}
