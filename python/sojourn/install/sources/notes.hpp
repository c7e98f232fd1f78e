// What the service says of itself when it ends: service times, with an interval of their mean.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "desk.hpp"

namespace words {

constexpr const char *SCHEMA = "sojourn.words.report/1";
constexpr size_t BATCHES_MAX = 64; // then two become one
constexpr size_t BATCHES_MIN = 8;  // fewer bound nothing
constexpr double STUDENT = 2.365;  // 97.5 % for 7 degrees of freedom: never too narrow for 8 or more

// Counts of times, each bucket at most 1/512 wide. The widest time is two hours.
class Times {
public:
    void add(uint64_t ns) {
        const size_t at = bucket(ns);
        counts_[at] += 1;
        count_ += 1;
        max_ns_ = std::max(max_ns_, ns);
    }

    void merge(const Times &other) {
        for (size_t at = 0; at < counts_.size(); ++at)
            counts_[at] += other.counts_[at];
        count_ += other.count_;
        max_ns_ = std::max(max_ns_, other.max_ns_);
    }

    // The time at rank ceil(q · count), ns, as the upper end of its bucket; "null" without any.
    std::string quantile(double q) const {
        uint64_t rank = std::max<uint64_t>(1, uint64_t(std::ceil(q * double(count_)))), seen = 0;
        for (size_t at = 0; at < counts_.size(); ++at)
            if ((seen += counts_[at]) >= rank)
                return std::to_string(std::min(top(at), max_ns_));
        return "null";
    }

    std::string max() const { return count_ == 0 ? "null" : std::to_string(max_ns_); }

private:
    static constexpr unsigned BITS = 9;
    static constexpr uint64_t EDGE = 2u << BITS; // below it every time has a bucket of its own
    std::vector<uint64_t> counts_ = std::vector<uint64_t>((44 - BITS) << BITS);
    uint64_t count_ = 0, max_ns_ = 0;

    size_t bucket(uint64_t ns) const {
        if (ns < EDGE)
            return ns;
        const unsigned shift = 63 - unsigned(__builtin_clzll(ns)) - BITS;
        const size_t at = (size_t(shift) << BITS) + (ns >> shift);
        return std::min(at, counts_.size() - 1);
    }

    static uint64_t top(size_t at) {
        if (at < EDGE)
            return at;
        const unsigned shift = unsigned(at >> BITS) - 1;
        return ((uint64_t(at) - (uint64_t(shift) << BITS) + 1) << shift) - 1;
    }
};

// Service times of one worker in the making.
//
// Means of consecutive services are taken as independent numbers. How many make one doubles as
// there come to be more, so that a slow service has an interval too.
class Notes {
public:
    Times times;
    uint64_t answered = 0, refused = 0, cpu_ns = 0;
    double sum_ns = 0.0;
    std::vector<double> means;

    void note(uint64_t ns, uint64_t of_cpu_ns) {
        times.add(ns);
        answered += 1;
        cpu_ns += of_cpu_ns;
        sum_ns += double(ns);
        batch_ns_ += double(ns);
        if (++in_batch_ < batch_)
            return;
        means.push_back(batch_ns_ / double(batch_));
        batch_ns_ = 0.0;
        in_batch_ = 0;
        if (means.size() == BATCHES_MAX)
            halve();
    }

private:
    uint64_t batch_ = 1, in_batch_ = 0;
    double batch_ns_ = 0.0;

    void halve() {
        for (size_t at = 0; at < means.size() / 2; ++at)
            means[at] = (means[2 * at] + means[2 * at + 1]) / 2.0;
        means.resize(means.size() / 2);
        batch_ *= 2;
    }
};

// The 95 % interval of a mean from the means of batches, as two JSON numbers or nulls (M9).
inline std::string interval(const std::vector<double> &means, double mean) {
    if (means.size() < BATCHES_MIN)
        return R"("lo":null,"hi":null)";
    const double n = double(means.size());
    double middle = 0.0, variance = 0.0;
    for (double one : means)
        middle += one / n;
    for (double one : means)
        variance += (one - middle) * (one - middle) / (n - 1.0);
    const double half = STUDENT * std::sqrt(variance / n);
    return "\"lo\":" + std::to_string(mean - half) + ",\"hi\":" + std::to_string(mean + half);
}

// A text as a JSON string.
inline std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += (unsigned char)(c) < ' ' ? ' ' : c;
    }
    return out + '"';
}

// Service times that all workers noted, together, as one line of JSON.
inline std::string report(const std::vector<Notes> &all, const std::string &program,
                          const Settings &settings) {
    Times times;
    double sum_ns = 0.0;
    uint64_t answered = 0, refused = 0, cpu_ns = 0;
    std::vector<double> means;
    std::string by_worker;
    for (const Notes &notes : all) {
        times.merge(notes.times);
        sum_ns += notes.sum_ns;
        answered += notes.answered;
        refused += notes.refused;
        cpu_ns += notes.cpu_ns;
        means.insert(means.end(), notes.means.begin(), notes.means.end());
        by_worker += (by_worker.empty() ? "" : ",") + std::to_string(notes.answered);
    }
    const double count = std::max(1.0, double(answered)), mean = sum_ns / count;
    const std::string number = std::to_string(answered);
    std::string out = std::string("{\"schema\":\"") + SCHEMA + "\",\"program\":" + quoted(program);
    out += ",\"settings\":{\"data\":" + quoted(settings.data);
    out += ",\"threads\":" + std::to_string(settings.threads);
    out += ",\"queries\":" + std::to_string(settings.queries);
    out += ",\"seed\":" + std::to_string(settings.seed) + "}";
    out += ",\"answered\":" + number + ",\"refused\":" + std::to_string(refused);
    out += ",\"service_ns\":{\"mean\":" + std::to_string(mean) + "," + interval(means, mean);
    out += ",\"count\":" + number + "},\"service\":{";
    const std::array<std::pair<const char *, double>, 5> asked = {
        {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}}};
    for (const auto &[name, q] : asked)
        out += std::string("\"") + name + "\":" + times.quantile(q) + ",";
    out += "\"max\":" + times.max() + ",\"count\":" + number + "}";
    out += ",\"cpu_ns\":" + std::to_string(double(cpu_ns) / count);
    return out + ",\"by_worker\":[" + by_worker + "]}";
}

} // namespace words
