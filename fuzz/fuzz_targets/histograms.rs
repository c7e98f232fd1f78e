//! Any text as a histogram, as a result has it: none, or one that can be asked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_base::span;

fuzz_target!(|text: &str| {
    let Some(found) = span::decode(text) else { return };
    assert!(found.iter_recorded().all(|it| it.count_at_value() > 0));
    assert!(found.value_at_quantile(0.5) <= found.value_at_quantile(0.99));
});
