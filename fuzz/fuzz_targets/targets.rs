//! Any text as a target: refused or read, and what was read can be said and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::protocols;

fuzz_target!(|text: &str| {
    if let Ok(target) = protocols::target(text) {
        let entry = protocols::kind_of(&target);
        assert!(!entry.schemes.is_empty());
    }
});
