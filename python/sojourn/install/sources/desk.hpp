// What a service of these has: its settings, its inputs, and a desk for each worker.
//
// A query is a number; which input it asks for follows from the seed, so that there may be more
// queries than inputs and every language can tell which one is meant.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace words {

// Why the program cannot go on: what, where, and how to fix it.
struct Fault : std::runtime_error {
    Fault(const std::string &what, const std::string &at, const std::string &fix)
        : std::runtime_error("error: " + what + "\n  at: " + at + "\n  fix: " + fix) {}
};

// Everything that decides what the service does.
struct Settings {
    std::string data;        // folder with inputs and what answers them
    unsigned threads = 1;    // workers; their threads are called worker-0, worker-1, …
    uint64_t queries = 10000; // queries that there are: 0 to N - 1
    uint64_t seed = 1;       // of the inputs that the queries ask for
    std::string host = "127.0.0.1";
    uint16_t port = 0;       // 0: the kernel chooses
    double measure_s = 0.0;  // above 0: no socket, this thread alone, for so many seconds
    bool is_listed = false;  // write the answer to every input, a line each, and end
    std::string json;        // file for the report; "": stdout
};

// A place at which one worker answers one input after the other.
class Desk {
public:
    virtual ~Desk() = default;

    // The answer, one line without its end. Throws where there is none: that is a status 500.
    virtual std::string answer(const std::string &input) = 0;

    // CPU time that answering has used so far, ns; called by the thread that answers.
    virtual uint64_t cpu_ns() const { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

    static uint64_t clock_ns(clockid_t clock) {
        timespec now{};
        if (clock_gettime(clock, &now) != 0)
            return 0;
        return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
    }
};

// Makes the desk of worker `nth`. Called before there are threads.
using Make = std::unique_ptr<Desk> (*)(const Settings &settings, unsigned nth);

// Number `nth` of the stream of `seed`: SplitMix64, as in crates/query/src/numbers.rs.
//
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
inline uint64_t at(uint64_t seed, uint64_t nth) {
    uint64_t z = seed + 0x9e3779b97f4a7c15u * (nth + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// The lines of a file. Throws a Fault if it cannot be read or has none.
inline std::vector<std::string> lines_of(const std::string &path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        if (!line.empty())
            lines.push_back(line);
    if (lines.empty())
        throw Fault("there are no lines to be read", path, "sojourn install makes it anew");
    return lines;
}

} // namespace words
