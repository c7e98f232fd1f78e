// Translation: an input is an English sentence, the answer a Spanish one (TailBench's moses, P4).
//
// A worker is a thread and the stages of a pipeline of its own, a process each, which live as long
// as it does. A NUL after a sentence makes each stage write out what it has (-z); before it goes the
// end of a line, without which the first stage would take the full stop for a part of a word to come.
// Which stages there are stands in stages.txt: a program in bin/, and its arguments, of which @NAME
// is a file here.
#include <fcntl.h>
#include <sys/prctl.h>

#include <sstream>

#include "front.hpp"

namespace {

constexpr size_t WIDTH = 400;
constexpr const char *PROGRAM = "sojourn-moses 1 (apertium eng-spa)";
extern "C" char **environ;

// One stage: it reads what the one before it writes.
struct Stage {
    pid_t pid;
    clockid_t clock; // its CPU time
};

class Pipeline : public words::Desk {
public:
    // The stages are named by their worker in the first word of their command lines, so that they
    // can be told apart from outside: worker-0/lt-proc.
    Pipeline(const std::string &data, unsigned nth) : data_(data) {
        int next = -1;
        to_ = piped(next);
        for (const std::string &line : words::lines_of(data + "/stages.txt")) {
            int out = -1, reads = -1;
            out = piped(reads);
            stages_.push_back(start(line, "worker-" + std::to_string(nth), next, out));
            close(next);
            close(out);
            next = reads;
        }
        from_ = next;
    }

    ~Pipeline() override {
        close(to_); // the stages end, one after the other
        close(from_);
    }

    std::string answer(const std::string &input) override {
        put(input + '\n' + '\0');
        std::string text;
        char room[4096];
        while (text.empty() || text.back() != '\0') {
            const ssize_t bytes = read(from_, room, sizeof room);
            if (bytes <= 0)
                throw std::runtime_error("a stage of the pipeline has ended");
            text.append(room, size_t(bytes));
        }
        while (!text.empty() && (text.back() == '\0' || text.back() == '\n'))
            text.pop_back();
        if (text.empty())
            throw std::runtime_error("no translation of: " + input);
        return text;
    }

    // Of the thread and of all its stages.
    uint64_t cpu_ns() const override {
        uint64_t sum_ns = Desk::cpu_ns();
        for (const Stage &stage : stages_)
            sum_ns += clock_ns(stage.clock);
        return sum_ns;
    }

private:
    const std::string data_;
    std::vector<Stage> stages_;
    int to_ = -1, from_ = -1;

    // A pipe that nobody inherits; its end for writing is the answer.
    static int piped(int &reads) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw words::Fault(std::string("no pipe can be made: ") + strerror(errno), "moses",
                               "raise `ulimit -n`, or give fewer threads");
        reads = ends[0];
        return ends[1];
    }

    Stage start(const std::string &line, const std::string &worker, int in, int out) const {
        std::istringstream given(line);
        std::vector<std::string> said;
        for (std::string word; given >> word;)
            said.push_back(word[0] == '@' ? data_ + "/" + word.substr(1) : word);
        const std::string program = data_ + "/bin/" + said.front();
        said.front() = worker + "/" + said.front();
        std::vector<char *> argv;
        for (std::string &word : said)
            argv.push_back(word.data());
        argv.push_back(nullptr);
        int begun[2]; // closed in the child when its program begins: until then it has our name
        if (pipe2(begun, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe to start a stage with");
        const pid_t lab = getpid(), pid = fork();
        if (pid == 0)
            become(program, argv.data(), in, out, lab);
        close(begun[1]);
        for (char none; read(begun[0], &none, 1) < 0 && errno == EINTR;)
            continue;
        close(begun[0]);
        Stage stage{pid, CLOCK_MONOTONIC};
        if (pid < 0 || clock_getcpuclockid(pid, &stage.clock) != 0)
            throw words::Fault(std::string("cannot start a stage: ") + strerror(errno), program,
                               "see whether there may be more processes: ulimit -u");
        return stage;
    }

    // The child: its pipes, and no life after the service's.
    [[noreturn]] void become(const std::string &program, char **argv, int in, int out,
                             pid_t service) const {
        signal(SIGPIPE, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const std::string libraries = data_ + "/lib";
        if (getppid() == service && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
            setenv("LD_LIBRARY_PATH", libraries.c_str(), 1) == 0 &&
            setenv("LC_ALL", "C.UTF-8", 1) == 0)
            execve(program.c_str(), argv, environ);
        std::cerr << "error: " << program << " cannot be started: " << strerror(errno) << std::endl;
        _exit(127);
    }

    void put(const std::string &text) const {
        for (size_t at = 0; at < text.size();) {
            const ssize_t bytes = write(to_, text.data() + at, text.size() - at);
            if (bytes < 0)
                throw std::runtime_error("the first stage of the pipeline has ended");
            at += size_t(bytes);
        }
    }
};

std::unique_ptr<words::Desk> make(const words::Settings &settings, unsigned nth) {
    return std::make_unique<Pipeline>(settings.data, nth);
}

} // namespace

int main(int argc, char **argv) { return words::run(argc, argv, PROGRAM, WIDTH, make); }
