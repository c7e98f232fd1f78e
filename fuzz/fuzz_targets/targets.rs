//! Any text as a target: refused or read. What was read gives the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::protocols;

fuzz_target!(|text: &str| {
    let Ok(target) = protocols::target(text) else { return };
    if target.is_unix() || target.port == 0 {
        return; // written in ways of their own
    }
    let written = format!("{}://{}{}", target.scheme.name, target.place(), target.path);
    let again = protocols::target(&written).expect(&written);
    assert_eq!((&again.host, again.port, &again.path), (&target.host, target.port, &target.path));
});
