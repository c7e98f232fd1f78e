/* Loads lag.bpf.o for a process and prints a line for each of its wake-ups: lag PID SECONDS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bpf/libbpf.h>

struct wake {
	unsigned long long at_ns, delay_ns;
	long long lag_ns, stored_lag_ns, slice_left_ns;
	unsigned long long weight, running_weight, is_beside;
};

static int printed(void *context, void *data, size_t size)
{
	const struct wake *wake = data;

	printf("%llu %lld %lld %lld %llu %llu %llu\n", wake->delay_ns, wake->lag_ns, wake->stored_lag_ns,
	       wake->slice_left_ns, wake->weight, wake->running_weight, wake->is_beside);
	return 0;
}

int main(int count, char **words)
{
	struct bpf_object *object = bpf_object__open_file("lag.bpf.o", NULL);
	struct bpf_program *program;
	struct bpf_map *map;
	struct ring_buffer *ring;
	size_t size;

	if (count != 3 || !object)
		return 2;
	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), "rodata"))
			*(int *)bpf_map__initial_value(map, &size) = atoi(words[1]);
	if (bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object)
		if (!bpf_program__attach(program))
			return 1;
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "wakes"), printed, NULL, NULL);
	for (time_t end = time(NULL) + atoi(words[2]); ring && time(NULL) < end;) {
		struct timespec pause = {.tv_nsec = 50000000};

		ring_buffer__consume(ring);
		nanosleep(&pause, NULL);
	}
	return !ring;
}
