// Requests out of bytes, replies into bytes: as much of HTTP/1.1 as `GET /q/{n}` takes.
#pragma once

#include <cstdint>
#include <string>
#include <strings.h>

namespace words {

constexpr size_t HEAD_BYTES_MAX = 8192;

// What a request asks for.
enum class Asked { Query, Ready, NotFound, NotAllowed };

// What the bytes at hand begin with: a part of a request, a whole one, or no HTTP.
struct Parsed {
    enum class Kind { More, Request, Broken } kind = Kind::More;
    size_t used = 0;
    Asked asked = Asked::NotFound;
    uint64_t query = 0;
    bool is_last = false; // the client wants the connection closed after the reply
};

// The value of a field of a head, or "" if it has none of that name.
inline std::string field(const std::string &head, const char *name) {
    const size_t length = std::char_traits<char>::length(name);
    for (size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at)) {
        at += 2;
        if (strncasecmp(head.c_str() + at, name, length) == 0 && head[at + length] == ':') {
            const size_t from = head.find_first_not_of(" \t", at + length + 1);
            const size_t end = head.find("\r\n", at);
            return from == std::string::npos ? "" : head.substr(from, end - from);
        }
    }
    return "";
}

// Fills in what a path asks for.
inline void of_path(const std::string &path, Parsed &parsed) {
    if (path == "/ready") {
        parsed.asked = Asked::Ready;
        return;
    }
    const std::string digits = path.rfind("/q/", 0) == 0 ? path.substr(3) : "";
    const bool is_number = !digits.empty() && digits.size() < 19 &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    parsed.asked = is_number ? Asked::Query : Asked::NotFound;
    parsed.query = is_number ? std::stoull(digits) : 0;
}

// Reads the first request in `input`. Stateless: what is not complete is read again.
inline Parsed parse(const std::string &input) {
    Parsed parsed;
    const size_t end = input.find("\r\n\r\n");
    if (end == std::string::npos) {
        if (input.size() > HEAD_BYTES_MAX)
            parsed.kind = Parsed::Kind::Broken;
        return parsed;
    }
    parsed.kind = Parsed::Kind::Broken;
    const std::string head = input.substr(0, end);
    const std::string line = head.substr(0, head.find("\r\n"));
    const size_t first = line.find(' ');
    const size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 7, "HTTP/1.") != 0)
        return parsed;
    const std::string length = field(head, "content-length");
    if ((!length.empty() && length != "0") || !field(head, "transfer-encoding").empty())
        return parsed; // a body would be taken for the next request
    parsed.kind = Parsed::Kind::Request;
    parsed.used = end + 4;
    of_path(line.substr(first + 1, second - first - 1), parsed);
    if (line.compare(0, first, "GET") != 0)
        parsed.asked = Asked::NotAllowed;
    parsed.is_last = strcasecmp(field(head, "connection").c_str(), "close") == 0 ||
                     line.compare(second + 1, std::string::npos, "HTTP/1.0") == 0;
    return parsed;
}

// A whole reply.
inline std::string reply(const char *status, const std::string &body) {
    return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: text/plain\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

} // namespace words
