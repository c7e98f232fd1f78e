// The program of every service of these: from a command line to an exit code.
//
//   settings → inputs → a desk each worker → (--list | --measure S | serve) → report
//
// The shape is TailBench's (PAPERS P4): inputs on the server's side, one line, N named workers.
#pragma once

#include <cstdio>
#include <iostream>

#include "server.hpp"

namespace words {

constexpr unsigned THREADS_MAX = 1024;

// A number out of a flag's value. Throws a Fault if it is none, or outside [lo, hi].
inline double number(const std::string &flag, const std::string &text, double lo, double hi) {
    char *end = nullptr;
    const double value = strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= lo && value <= hi))
        throw Fault(flag + " cannot be '" + text + "'", flag,
                    "give " + std::to_string(uint64_t(lo)) + " to " + std::to_string(uint64_t(hi)));
    return value;
}

// The command line as settings. Throws a Fault for what it does not know.
inline Settings settings_of(int argc, char **argv) {
    Settings settings;
    for (int nth = 1; nth < argc; ++nth) {
        const std::string flag = argv[nth];
        if (flag == "--list") {
            settings.is_listed = true;
            continue;
        }
        if (nth + 1 == argc)
            throw Fault("no value for " + flag, flag, "give one");
        const std::string value = argv[++nth];
        if (flag == "--data")
            settings.data = value;
        else if (flag == "--threads")
            settings.threads = unsigned(number(flag, value, 1, THREADS_MAX));
        else if (flag == "--queries")
            settings.queries = uint64_t(number(flag, value, 1, 1e15));
        else if (flag == "--seed")
            settings.seed = uint64_t(number(flag, value, 0, 9e15));
        else if (flag == "--host")
            settings.host = value;
        else if (flag == "--port")
            settings.port = uint16_t(number(flag, value, 0, 65535));
        else if (flag == "--measure")
            settings.measure_s = number(flag, value, 0, 3600);
        else if (flag == "--json")
            settings.json = value;
        else
            throw Fault("no option is called " + flag, flag,
                        "--data --threads --queries --seed --host --port --measure --list --json");
    }
    if (settings.data.empty())
        throw Fault("there is no folder with data", "--data", "name what sojourn install keeps");
    return settings;
}

// One query after the other in this thread: what one thread can do without a socket.
inline Notes measured(const Server &server, Desk &desk, const Settings &settings) {
    Notes notes;
    const uint64_t end = Desk::clock_ns(CLOCK_MONOTONIC) + uint64_t(settings.measure_s * 1e9);
    for (uint64_t query = 0; Desk::clock_ns(CLOCK_MONOTONIC) < end; ++query)
        server.answer(desk, query % settings.queries, notes);
    return notes;
}

inline void write(const std::string &path, const std::string &text) {
    if (path.empty()) {
        std::cout << text << std::endl;
        return;
    }
    std::ofstream file(path);
    file << text << "\n";
    if (!file.flush())
        throw Fault("the report cannot be written", path, "see whether the disk has room");
}

inline void act(const std::string &program, const Settings &settings, size_t width, Make make) {
    const std::vector<std::string> inputs = lines_of(settings.data + "/inputs.txt");
    const bool is_alone = settings.is_listed || settings.measure_s > 0.0;
    std::vector<std::unique_ptr<Desk>> desks;
    for (unsigned nth = 0; nth < (is_alone ? 1 : settings.threads); ++nth)
        desks.push_back(make(settings, nth));
    Desk &first = *desks.front();
    if (settings.is_listed) {
        for (const std::string &input : inputs)
            std::cout << first.answer(input) << "\n";
        return;
    }
    Server server(settings, inputs, width, std::move(desks));
    if (is_alone) {
        write(settings.json, report({measured(server, first, settings)}, program, settings));
        return;
    }
    const uint16_t port = server.listen();
    std::cout << "{\"listening\":\"" << settings.host << ":" << port << "\",\"port\":" << port << "}"
              << std::endl;
    write(settings.json, report(server.run(), program, settings));
}

// The whole program: 0 if all went well, 2 if it cannot be as asked, 1 if it failed.
inline int run(int argc, char **argv, const char *program, size_t width, Make make) {
    if (argc == 2 && std::string(argv[1]) == "--version") {
        std::cout << program << std::endl;
        return 0;
    }
    signal(SIGPIPE, SIG_IGN);
    try {
        act(program, settings_of(argc, argv), width, make);
        return 0;
    } catch (const Fault &fault) {
        std::cerr << fault.what() << std::endl;
        return 2;
    } catch (const std::exception &error) {
        std::cerr << "error: " << error.what() << "\n  at: " << program << std::endl;
        return 1;
    }
}

} // namespace words
