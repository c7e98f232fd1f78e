//! Any text as a target: refused or read. What was read gives the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::protocols;

fuzz_target!(|text: &str| {
    let Ok(target) = protocols::target(text) else { return };
    let is_host = !target.is_unix() && target.port > 0 && target.host != "unix";
    if !is_host || target.host.contains('%') {
        return; // sockets, null: and zones are written in other ways
    }
    let written = format!("{}://{}{}", target.scheme.name, target.place(), target.path);
    let again = protocols::target(&written).expect(&written);
    assert_eq!((&again.host, again.port, &again.path), (&target.host, target.port, &target.path));
});
