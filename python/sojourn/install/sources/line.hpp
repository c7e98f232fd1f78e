// The line: one for all workers, first come, first served; and the connections that wait in it.
//
// A connection has at most one request in the line or in service: the next one that has already been
// read goes to the end of the line when its reply is written. So replies of a connection keep their
// order, as HTTP/1.1 demands, and workers need not know of each other.
#pragma once

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "http.hpp"

namespace words {

constexpr size_t INPUT_BYTES_MAX = 1 << 16; // who sends more without reading replies is closed
constexpr int PATIENCE_MS = 1000;           // for a client that does not take its reply

// A connection, known to the reader and to the worker that serves it.
struct Connection {
    const int fd;
    std::mutex mutex;
    std::string input;      // read and not yet parsed
    bool is_served = false; // a request of it is in the line or in service

    explicit Connection(int accepted) : fd(accepted) {}
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection() { close(fd); }

    // Writes all of a reply; false if the client does not take it.
    bool put(const std::string &reply) const {
        for (size_t at = 0; at < reply.size();) {
            const ssize_t bytes = send(fd, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
            if (bytes >= 0) {
                at += size_t(bytes);
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                pollfd taken{fd, POLLOUT, 0};
                if (poll(&taken, 1, PATIENCE_MS) == 0)
                    return false;
            } else if (errno != EINTR) {
                return false;
            }
        }
        return true;
    }

    // Takes what has come; false if there will be no more. The mutex is held.
    bool take() {
        char room[4096];
        for (;;) {
            const ssize_t bytes = recv(fd, room, sizeof room, 0);
            if (bytes == 0)
                return false;
            if (bytes > 0)
                input.append(room, size_t(bytes));
            else if (errno == EAGAIN || errno == EWOULDBLOCK)
                return true;
            else if (errno != EINTR)
                return false;
            if (input.size() > INPUT_BYTES_MAX)
                return false;
        }
    }
};

// A request in the line.
struct Job {
    std::shared_ptr<Connection> connection;
    Parsed asked;
};

// A queue without a bound: how many may be in it is bounded by how many connections there are.
class Line {
public:
    void push(Job job) {
        {
            const std::lock_guard<std::mutex> held(mutex_);
            waiting_.push_back(std::move(job));
        }
        arrived_.notify_one();
    }

    // The first of the line; waits for one. None once it is closed, whoever still waits.
    std::optional<Job> pop() {
        std::unique_lock<std::mutex> held(mutex_);
        arrived_.wait(held, [this] { return is_closed_ || !waiting_.empty(); });
        if (is_closed_)
            return std::nullopt;
        Job job = std::move(waiting_.front());
        waiting_.pop_front();
        return job;
    }

    // Sends all workers home, also from a queue that is not empty.
    void shut() {
        {
            const std::lock_guard<std::mutex> held(mutex_);
            is_closed_ = true;
        }
        arrived_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Job> waiting_;
    bool is_closed_ = false;
};

} // namespace words
