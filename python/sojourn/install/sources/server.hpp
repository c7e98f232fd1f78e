// One thread reads requests into the line; workers take them from it, answer, and write.
#pragma once

#include <arpa/inet.h>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <thread>
#include <unordered_map>

#include "desk.hpp"
#include "line.hpp"
#include "notes.hpp"

namespace words {

constexpr int EVENTS = 256; // taken at once

class Server {
public:
    // What there is to answer: inputs, the width that answers are filled up to, a desk each worker.
    Server(const Settings &settings, std::vector<std::string> inputs, size_t width,
           std::vector<std::unique_ptr<Desk>> desks)
        : settings_(settings), inputs_(std::move(inputs)), width_(width), desks_(std::move(desks)) {}

    // Listens where the settings say; the port on which it does. From now on SIGTERM and SIGINT are
    // the reader's alone: threads that begin later have them blocked.
    uint16_t listen() {
        sigset_t ends;
        sigemptyset(&ends);
        sigaddset(&ends, SIGTERM);
        sigaddset(&ends, SIGINT);
        sigprocmask(SIG_BLOCK, &ends, nullptr);
        ended_ = signalfd(-1, &ends, SFD_CLOEXEC);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(settings_.port);
        const int on = 1;
        socklen_t length = sizeof address;
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        auto *where = reinterpret_cast<sockaddr *>(&address);
        if (inet_pton(AF_INET, settings_.host.c_str(), &address.sin_addr) != 1 ||
            bind(listener_, where, sizeof address) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
            getsockname(listener_, where, &length) != 0)
            throw Fault(std::string("cannot listen: ") + strerror(errno),
                        settings_.host + ":" + std::to_string(settings_.port),
                        "choose a free port (0: any) and an address of this machine");
        return ntohs(address.sin_port);
    }

    // Serves until SIGTERM or SIGINT; what its workers noted is the answer.
    std::vector<Notes> run() {
        std::vector<Notes> notes(desks_.size());
        std::vector<std::thread> workers;
        for (size_t nth = 0; nth < desks_.size(); ++nth) {
            workers.emplace_back([this, nth, &notes] { serve(*desks_[nth], notes[nth]); });
            const std::string name = "worker-" + std::to_string(nth);
            pthread_setname_np(workers.back().native_handle(), name.c_str());
        }
        read();
        line_.shut();
        for (std::thread &worker : workers)
            worker.join();
        return notes;
    }

    // Answers a query and notes how long that took. Throws where there is no answer.
    std::string answer(Desk &desk, uint64_t query, Notes &notes) const {
        const std::string &input = inputs_[at(settings_.seed, query) % inputs_.size()];
        const uint64_t began = Desk::clock_ns(CLOCK_MONOTONIC), cpu_ns = desk.cpu_ns();
        const std::string text = desk.answer(input);
        const uint64_t ended = Desk::clock_ns(CLOCK_MONOTONIC);
        if (text.empty() || text.size() > width_ || text.find('\n') != std::string::npos)
            throw std::runtime_error("an answer of " + std::to_string(text.size()) + " bytes");
        notes.note(ended - began, desk.cpu_ns() - cpu_ns);
        char head[32];
        snprintf(head, sizeof head, "query %10llu ", (unsigned long long)query);
        return head + text + std::string(width_ - text.size(), ' ') + '\n';
    }

private:
    const Settings &settings_;
    const std::vector<std::string> inputs_;
    const size_t width_;
    const std::vector<std::unique_ptr<Desk>> desks_;
    Line line_;
    int listener_ = -1, ended_ = -1;
    int spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC); // given up to refuse a connection

    // The reader: accepts connections and puts what they ask into the line.
    void read() {
        const int epoll = epoll_create1(EPOLL_CLOEXEC);
        std::unordered_map<int, std::shared_ptr<Connection>> known;
        watch(epoll, ended_);
        watch(epoll, listener_);
        epoll_event events[EVENTS];
        for (;;) {
            const int count = epoll_wait(epoll, events, EVENTS, -1);
            for (int nth = 0; nth < count; ++nth) {
                const int fd = events[nth].data.fd;
                if (fd == ended_)
                    return;
                if (fd == listener_)
                    accept(epoll, known);
                else if (const auto found = known.find(fd); found != known.end() && !take(found->second)) {
                    // A worker may still hold it: then it is closed once that lets go.
                    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
                    known.erase(found);
                }
            }
        }
    }

    static void watch(int epoll, int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }

    void accept(int epoll, std::unordered_map<int, std::shared_ptr<Connection>> &known) {
        const int on = 1;
        for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            known[fd] = std::make_shared<Connection>(fd);
            watch(epoll, fd);
        }
        if (errno == EMFILE || errno == ENFILE)
            refuse();
    }

    // Accepts a connection and closes it: one that waits for a file would be reported without end.
    void refuse() {
        close(spare_);
        if (const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); fd >= 0)
            close(fd);
        spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }

    bool take(const std::shared_ptr<Connection> &connection) {
        const std::lock_guard<std::mutex> held(connection->mutex);
        return connection->take() && (connection->is_served || advance(connection));
    }

    // Puts the next request that was read into the line; false if it cannot be understood. Whether
    // the service is ready is said at once: it listens only when all its desks are there.
    bool advance(const std::shared_ptr<Connection> &connection) {
        for (;;) {
            const Parsed parsed = parse(connection->input);
            if (parsed.kind != Parsed::Kind::Request)
                return parsed.kind == Parsed::Kind::More;
            connection->input.erase(0, parsed.used);
            if (parsed.asked != Asked::Ready) {
                connection->is_served = true;
                line_.push(Job{connection, parsed});
                return true;
            }
            const std::string body = std::to_string(desks_.size()) + " workers\n";
            if (!connection->put(reply("200 OK", body)) || parsed.is_last)
                return false;
        }
    }

    // A worker: takes the first of the line, answers, writes, until it is sent home.
    void serve(Desk &desk, Notes &notes) {
        while (const std::optional<Job> job = line_.pop()) {
            const bool is_taken = job->connection->put(replied(desk, job->asked, notes));
            const std::lock_guard<std::mutex> held(job->connection->mutex);
            job->connection->is_served = false;
            if (!is_taken || job->asked.is_last || !advance(job->connection))
                shutdown(job->connection->fd, SHUT_RDWR); // the reader sees the end of it
        }
    }

    std::string replied(Desk &desk, const Parsed &asked, Notes &notes) const {
        if (asked.asked == Asked::Query && asked.query < settings_.queries) {
            try {
                return reply("200 OK", answer(desk, asked.query, notes));
            } catch (const std::exception &error) {
                notes.refused += 1;
                return reply("500 Internal Server Error", std::string(error.what()) + "\n");
            }
        }
        notes.refused += 1;
        if (asked.asked == Asked::NotAllowed)
            return reply("405 Method Not Allowed", "ask GET /q/{n}\n");
        const std::string last = std::to_string(settings_.queries - 1);
        return reply("404 Not Found", "ask GET /q/{n}, n from 0 to " + last + "\n");
    }
};

} // namespace words
