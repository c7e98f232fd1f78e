//! Requests as a Chrome trace (`chrome://tracing`, ui.perfetto.dev): one track per thread and
//! connection, a slice per request, its stages inside.
//!
//! Run-queue delay is drawn at its place after the wake-up, also where the thread was preempted
//! later: a record keeps how long each stage took, not how often it was interrupted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::judge::result::TraceResult;

/// The worst requests of a result in the Trace Event Format (complete events, times in µs).
pub fn trace(result: &TraceResult) -> Value {
    json!({"traceEvents": events(result, None), "displayTimeUnit": "ns"})
}

/// Its events. `of`: the process that they get, with times from the start of the trace; none: their own.
pub fn events(result: &TraceResult, of: Option<u64>) -> Vec<Value> {
    let from_ns = if of.is_some() { result.started_ns } else { 0 };
    let mut events = Vec::new();
    let mut tracks = BTreeMap::new();
    for request in &result.worst {
        let thread = result.threads.iter().find(|t| t.tid == request.tid);
        let (pid, comm) = thread.map_or((0, ""), |t| (t.pid, t.comm.as_str()));
        let pid = of.unwrap_or(u64::from(pid));
        // Requests of one thread overlap while they wait, so each connection gets its own track.
        // Its number is counted: Perfetto has 32 bits for it, fewer than a thread and a port need.
        let next = tracks.len() + 1;
        let track = *tracks.entry((request.tid, request.peer_port)).or_insert(next);
        if track == next {
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": pid, "tid": track,
                "args": {"name": format!("{comm} {}, port {}", request.tid, request.peer_port)},
            }));
        }
        let slice = |name: &str, start_ns: u64, ns: u64, args: Value| {
            json!({
                "ph": "X", "cat": "request", "name": name, "pid": pid, "tid": track,
                "ts": start_ns.saturating_sub(from_ns) as f64 / 1e3, "dur": ns as f64 / 1e3, "args": args,
            })
        };
        events.push(slice(
            &format!("request from port {}", request.peer_port),
            request.start_ns,
            request.total_ns,
            json!({"bytes_in": request.bytes_in, "bytes_out": request.bytes_out, "tid": request.tid}),
        ));
        let mut at_ns = request.start_ns;
        for (name, ns) in &request.stages {
            events.push(slice(name, at_ns, *ns, json!({})));
            at_ns = at_ns.saturating_add(*ns);
        }
    }
    events
}
