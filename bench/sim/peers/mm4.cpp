// M/M/4, first come first served, as one writes it in an hour: the standard library's generator and
// exponentials, the earliest of four servers by comparing all, a histogram of three digits.
// Usage: mm4 REQUESTS SEED; prints "mean S" and the p99, s.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static unsigned bin_of(uint64_t ns) {
    unsigned shift = 63 - __builtin_clzll(ns | 2047) - 10;
    return (shift << 10) + (unsigned)(ns >> shift);
}

int main(int count, char **words) {
    uint64_t requests = count > 1 ? strtoull(words[1], nullptr, 10) : 10'000'000;
    std::mt19937_64 random(count > 2 ? strtoull(words[2], nullptr, 10) : 1);
    std::exponential_distribution<double> gap(3.2), service(1.0);
    double now = 0, sum = 0, falls_free[4] = {};
    std::vector<uint64_t> bins(64 * 1024);
    for (uint64_t i = 0; i < requests; i++) {
        now += gap(random) * 1e9;
        double service_ns = service(random) * 1e9;
        int server = 0;
        for (int other = 1; other < 4; other++)
            if (falls_free[other] < falls_free[server]) server = other;
        double done = std::max(now, falls_free[server]) + service_ns;
        falls_free[server] = done;
        sum += done - now;
        bins[bin_of((uint64_t)(done - now))]++;
    }
    uint64_t below = 0;
    unsigned bin = 0;
    while ((below += bins[bin]) < 0.99 * requests) bin++;
    unsigned shift = bin < 2048 ? 0 : (bin >> 10) - 1;
    printf("mean %.6f %.6f\n", sum / requests / 1e9, ((uint64_t)(bin - (shift << 10)) << shift) / 1e9);
}
