//! Both sides in one Chrome trace: each from the beginning of its own time, one above the other.

use serde_json::{Value, json};

use crate::diff::read::Pair;
use crate::output::chrome;

/// The slowest requests of all traces in the Trace Event Format. A trace is a process, `first 1: memcached`.
pub fn trace(pairs: &[Pair]) -> Value {
    let mut events = Vec::new();
    let sides = pairs.iter().enumerate().flat_map(|(number, (first, second))| {
        [("first", 2 * number + 1, first), ("second", 2 * number + 2, second)]
    });
    for (side, process, trace) in sides {
        let name = format!("{side} {}: {}", process.div_ceil(2), trace.result.target.name);
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name},
        }));
        events.push(json!({
            "ph": "M", "name": "process_sort_index", "pid": process, "tid": 0,
            "args": {"sort_index": process},
        }));
        events.extend(chrome::events(&trace.result, Some(process as u64)));
    }
    json!({"traceEvents": events, "displayTimeUnit": "ns"})
}
