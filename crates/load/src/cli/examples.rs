//! The text below the flags in --help.

/// Commands to start from, and what the exit codes mean.
pub const EXAMPLES: &str = "\
Examples:
  50 000 requests/s for 30 s, Poisson arrivals, 64 connections; a table on the terminal:
    sojourn-load memcache://127.0.0.1:11211 --preload --rate 50k --duration 30s --connections 64

  The same as JSON, and histograms by the second (HdrHistogram's log format):
    sojourn-load memcache://127.0.0.1:11211 --rate 50k --json out.json --hlog out.hlog

  A run of an hour, each second on disk when it is over:
    sojourn-load memcache://127.0.0.1:11211 --rate 50k --duration 1h --seconds out.jsonl

  Does p99 stay below 500 µs? Exit code 0: yes, 1: no, 3: not known, for example with fewer than 563 requests:
    sojourn-load http://127.0.0.1:8080/index.html --rate 20k --qos-quantile 0.99 --qos-bound 500us

  The highest throughput (closed loop), with the client on CPU 1:
    sojourn-load resp://127.0.0.1:6379 --preload --find-max --connections 16 --cpus 1

  A load that steps up, with 10 % SETs and Facebook's sizes:
    sojourn-load memcache://127.0.0.1:11211 --rate steps:10k@5s,20k@5s --duration 10s \\
      --set-share 0.1 --key-size fb_key --value-size fb_value

  Searches over HTTPS with a check of the replies and a token from a file:
    sojourn-load 'https://api.test/search?q={item}' --items 1000 --rate 2k \\
      --auth bearer:file:token --expect-regex '\"hits\": *[1-9]'

  Rows of a database by number, with the password in a file:
    sojourn-load postgres://me@127.0.0.1/shop --auth password:file:secret --items 100000 \\
      --query 'SELECT name FROM goods WHERE id = {}' --rate 2k

  Database 2 of a Redis with a password, filled first:
    sojourn-load redis://127.0.0.1:6379/2 --auth password:file:secret --preload --rate 20k

  Replay an access log at its recorded times, and twice as fast; values in queries become numbers:
    sojourn-load http://127.0.0.1:8080/ --replay access.log
    sojourn-load http://127.0.0.1:8080/ --replay access.log --speed 2x

  gRPC calls on four connections, at most 50 in flight on each, with the message as JSON:
    sojourn-load grpc://127.0.0.1:50051/helloworld.Greeter/SayHello --rate 5k --connections 4 \\
      --streams 50 --option descriptor=greeter.pb --body '{\"name\": \"you\"}'

  A job from another program:
    echo '{\"target\":\"null:\",\"rate\":\"100k\",\"duration\":\"2s\"}' | sojourn-load --job - --json -

Exit codes: 0 valid · 1 QoS violated · 2 the job is wrong · 3 unknown: a self-check failed (see the result)
            4 server, disk or kernel failed · 130 stopped by a signal, result written";
