//! What the generator is asked to do: a JSON job on stdin, or the same from flags.
//!
//! Every flag has a key here of the same name. Unknown keys are refused. Quantities that people
//! type (`"50k"`, `"30s"`) are text here too, so that a job reads like a command line.

pub mod address;
pub mod secrets;
pub mod shards;
pub mod target;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the job's form; a job with another major version is refused.
pub const SCHEMA: &str = "sojourn.load.job/1";

/// One run of the generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "keys of a job are wishes that go with any other"
)]
pub struct Job {
    /// Version of this form: `sojourn.load.job/1`.
    pub schema: String,
    /// `memcache://HOST:PORT`, `memcache+udp://…`, `http://HOST:PORT/`, `https://…`, `h2://…` (HTTP/2
    /// over TLS), `h2c://…` (without), `grpc://HOST:PORT/PACKAGE.SERVICE/METHOD`, `grpcs://…`, `resp://…`, `echo://…`, `null:`.
    /// RESP is `redis://` and `valkey://` too: `redis://USER@HOST:PORT/DATABASE`.
    /// Of `memcache` several, `HOST:PORT,HOST:PORT`: each holds the keys that hash to it. A unix socket:
    /// `memcache://unix:/SOCKET`, `resp://unix:/SOCKET`, `http://unix:/SOCKET:/PATH`. Of PostgreSQL:
    /// `postgres://USER@HOST:PORT/DATABASE`, `postgres://USER@unix:/SOCKET:/DATABASE`.
    pub target: String,
    /// Offered load, requests/s: `50k`, or a schedule: `steps:10k@5s,20k@5s`, `ramp:1k..50k`,
    /// `sine:20k,5k,10s`. Ignored by `find_max`.
    pub rate: String,
    /// Length of the measured part.
    pub duration: String,
    /// Length of the load before it, sent and not measured.
    pub warmup: String,
    /// How long replies are waited for after the last request was due. `auto`: 2 s, or `timeout` where
    /// that is given and longer.
    pub drain: String,
    /// Longest wait for a reply after its request was sent: then the request has failed (`timed_out`), and
    /// over a stream its connection is replaced. `auto`: ten times the `QoS` bound, or 1 s without one.
    pub timeout: String,
    /// When the warm-up begins, ns of `CLOCK_MONOTONIC`, within the next hour: generators with the same
    /// begin at one instant. Refused if it is past before all is ready. 0: as soon as it is.
    pub start_at: u64,
    /// Connections, over all threads.
    pub connections: u32,
    /// Most requests in flight per connection, over HTTP/2 its streams; more wait in the plan, inside the
    /// stopwatch. 0: 1, and 16 over HTTP/2, and over UDP, where a lost datagram must not hold its connection.
    pub depth: u32,
    /// Threads; each drives its share of connections and of the rate.
    pub threads: u32,
    /// Addresses of this machine that connections come from in turn, such as `127.0.0.2,127.0.0.3`: each
    /// has as many ports as the kernel gives out. Empty: the kernel's choice.
    pub source: String,
    /// CPUs to pin threads to, such as `1` or `1,3-5`; empty: not pinned.
    pub cpus: String,
    /// `epoll` or `io_uring`; `auto` takes `io_uring` where the kernel allows it.
    pub transport: String,
    /// `spin`, `yield` (spin, and give the CPU to other tasks that can run), `sleep`, `sleep:TIME` (a wake-up may come so much later to serve several events,
    /// which saves CPU and makes every time longer by up to that), or `auto`: spin if every thread
    /// has a CPU of its own.
    pub wait: String,
    /// Arrival process: `poisson`, `fixed`, `gamma:2`, `lognormal:2`, `pareto:1.5`, `zipf:1.2`,
    /// `onoff:10ms,90ms`, `fb_ia`, `trace:FILE`, `trace:FILE,speed=2`.
    pub arrivals: String,
    /// What each arrival is: empty or `none`, one request; `playback:chunks=10,every=4s`, a session that asks
    /// for a play list and then for a chunk every 4 s, at times that are fixed when it begins. `rate`
    /// counts requests; items are films, in each quality a play list and its chunks.
    pub sessions: String,
    /// Popularity of keys or paths (with sessions, of films): `uniform`, `zipf:0.99`, `hot:0.1,0.9`, `order` (one after
    /// another, on one thread).
    pub popularity: String,
    /// Seed of every draw; 0: a fresh one, recorded in the result.
    pub seed: u64,
    /// memcache and RESP: number of distinct keys.
    pub items: u64,
    /// memcache and RESP: key length, bytes, as a distribution; never shorter than the digits of `items`.
    pub key_size: String,
    /// memcache and RESP: value size, bytes, as a distribution.
    pub value_size: String,
    /// Share of requests that are SETs, 0 to 1.
    pub set_share: f64,
    /// Share of requests that are multi-GETs, 0 to 1 (memcache, RESP).
    pub multiget_share: f64,
    /// Keys per multi-GET.
    pub multiget_keys: u32,
    /// HTTP: paths; `{}` or `{item}` in one is replaced by a number below `items`.
    pub paths: Vec<String>,
    /// HTTP: file with a path on each line, at its end, as in a log of times and paths; asked for instead of
    /// `paths`, in their order with `popularity` `order`. Empty: none.
    pub paths_file: String,
    /// HTTP: what is done to a log in `paths_file`: `method` takes only requests with the job's, `numbers` puts
    /// numbers in place of values in queries, the same for the same; both with a comma between. Empty: nothing.
    pub log_form: String,
    /// HTTP: method of each request.
    pub method: String,
    /// HTTP: headers, `NAME: VALUE`, beside or instead of the usual ones; `{item}` as in `paths`.
    pub header: Vec<String>,
    /// HTTP: text that each request carries; gRPC: its message as JSON; `{item}` as in `paths`. Empty: none.
    pub body: String,
    /// HTTP and gRPC: file that each request carries as it is; empty: none.
    pub body_file: String,
    /// PostgreSQL: queries; `{}` or `{item}` in one is replaced by a number below `items`; `{}` within quotes
    /// or a comment is not, and `{{}}` is `{}` as it is.
    pub query: Vec<String>,
    /// HTTP: `basic:` or `bearer:`, PostgreSQL and RESP: `password:`; and where the secret is: `file:PATH` or
    /// `env:NAME`. Empty: none.
    pub auth: String,
    /// TLS: certificates of issuers, or of the server itself, in PEM; empty: those that this machine
    /// trusts.
    pub ca_file: String,
    /// TLS: name that the server is asked for, and that its certificate must have; empty: the target's.
    pub server_name: String,
    /// TLS: believe any certificate.
    pub insecure: bool,
    /// TLS: the client's own certificate and those of its issuers, in PEM, for a server that asks for one;
    /// needs `key`. Empty: none.
    pub cert: String,
    /// TLS: file with the private key of `cert`, in PEM; the key itself goes into no result. Empty: none.
    pub key: String,
    /// HTTP: statuses that are a success, such as `200` or `200-299,404`. Empty: 200 to 299.
    pub expect_status: String,
    /// Body size a reply must have, bytes; 0: any (memcache and RESP know it from `value_size`). Of
    /// PostgreSQL: of all values together.
    pub expect_bytes: u64,
    /// HTTP, PostgreSQL: SHA-256 that the body of a reply must have, checked on a sample after the run
    /// (of rows: a line for each, tabulators between columns). Empty: any.
    pub expect_sha256: String,
    /// HTTP, PostgreSQL: regular expression that the body of a reply must match, checked on a sample after the run.
    /// Empty: any.
    pub expect_regex: String,
    /// HTTP: file with a path, the length of its body and its SHA-256 on each line, for every path of
    /// `paths_file`: each reply's length is checked, and the content of a sample. Empty: none.
    pub expect_file: String,
    /// HTTP: an empty body is a reply too, PostgreSQL: one that found and did nothing. Else a run in
    /// which more than 1 % of the replies to GETs or queries were empty is `unknown`.
    pub allow_empty: bool,
    /// Options that only the target's protocol has, by name; `--describe` lists them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub option: BTreeMap<String, String>,
    /// CPUs of the server, where they are known: how idle they were is part of the result. Empty: unknown.
    pub server_cpus: String,
    /// Process of the server: what keeps its threads (and its descendants') from `server_cpus` is
    /// logged, beside the load, by a sentinel on each of them (METHOD M29). 0: unknown, no log.
    pub server_pid: u32,
    /// CPUs of a synthetic service, which is part of the instrument: their outages are the
    /// instrument's too, and a sentinel watches each, and by `server_pid` its threads' waits for a CPU.
    /// Empty for any real service (METHOD M27).
    pub instrument_cpus: String,
    /// File by which clients on one CPU take turns (`turns`); needs `wait` = yield and `cpus`. Empty: the
    /// kernel has to choose.
    pub turns: String,
    /// Set every key once before the run, and check that it is there.
    pub preload: bool,
    /// Rate of the probe client beside the load, requests/s on a connection of its own; 0: none.
    pub probe_rate: f64,
    /// Closed loop, as fast as it goes: every connection keeps `depth` requests in flight.
    pub find_max: bool,
    /// A request is timely if it was sent at most this long after it was due (METHOD M3). `auto`: 50 µs,
    /// or 1 % of the `QoS` bound if that is more, and what `sleep:TIME` puts a wake-up off.
    pub timely_within: String,
    /// `QoS` quantile, 0 to 1; with `qos_bound` it gives the run a verdict. 0: none.
    pub qos_quantile: f64,
    /// `QoS` bound on the sojourn time; empty: none.
    pub qos_bound: String,
    /// One of several runs that are judged together: its verdict is that of its own quantile, without the
    /// error of its sample, and all its quantiles are given, however few requests carry them.
    pub pooled: bool,
    /// A gap between two polls longer than this is an outage of the instrument (METHOD M27); so is one from
    /// 0.2 ms on for most of which a thread that spins, apart from `server_cpus`, waited for its CPU.
    pub outage_over: String,
    /// Share of the requests that outages may exclude before the verdict is `unknown` (METHOD M33).
    pub excluded_share_max: f64,
    /// Share of the requests that logged stops of the server's CPUs may disturb; 1: any, because who
    /// shares these CPUs is part of what is measured. Without a log, steal may take a hundredth.
    pub disturbed_share_max: f64,
    /// Share of the time that outages may take; 1: no limit beside that of `excluded_share_max`.
    pub outage_share_max: f64,
    /// Where the interval log goes (one `HdrHistogram` per slice: a fortieth of the run, at most a second); empty: none.
    pub hlog: String,
    /// Where each second goes while the run goes on (a JSON object a line); empty: nowhere.
    pub seconds: String,
    /// Where raw requests go, as Parquet; empty: none.
    pub raw: String,
    /// Most raw requests kept; beyond it a uniform sample is kept, and the result says so.
    pub raw_max: u64,
    /// Most requests of a run that is kept whole, as runs with `raw` and `find_max` are: memory is
    /// taken for all of them before it starts. Others have no limit, and take some 600 MB at most.
    pub requests_max: u64,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            schema: SCHEMA.into(),
            target: String::new(),
            rate: "1k".into(),
            duration: "10s".into(),
            warmup: "1s".into(),
            drain: "auto".into(),
            timeout: "auto".into(),
            start_at: 0,
            connections: 16,
            depth: 0,
            threads: 1,
            source: String::new(),
            cpus: String::new(),
            transport: "auto".into(),
            wait: "auto".into(),
            arrivals: "poisson".into(),
            sessions: String::new(),
            popularity: "uniform".into(),
            seed: 0,
            items: 10_000,
            key_size: "30".into(),
            value_size: "200".into(),
            set_share: 0.0,
            multiget_share: 0.0,
            multiget_keys: 10,
            paths: vec!["/".into()],
            paths_file: String::new(),
            log_form: String::new(),
            method: "GET".into(),
            header: Vec::new(),
            body: String::new(),
            body_file: String::new(),
            query: vec!["SELECT 1".into()],
            auth: String::new(),
            ca_file: String::new(),
            server_name: String::new(),
            insecure: false,
            cert: String::new(),
            key: String::new(),
            expect_status: String::new(),
            expect_bytes: 0,
            expect_sha256: String::new(),
            expect_regex: String::new(),
            expect_file: String::new(),
            allow_empty: false,
            option: BTreeMap::new(),
            server_cpus: String::new(),
            turns: String::new(),
            server_pid: 0,
            instrument_cpus: String::new(),
            preload: false,
            probe_rate: 0.0,
            find_max: false,
            timely_within: "auto".into(),
            qos_quantile: 0.0,
            qos_bound: String::new(),
            pooled: false,
            outage_over: "1ms".into(),
            excluded_share_max: 0.8,
            disturbed_share_max: 0.5,
            outage_share_max: 1.0,
            hlog: String::new(),
            seconds: String::new(),
            raw: String::new(),
            raw_max: 1_000_000,
            requests_max: 64_000_000,
        }
    }
}
