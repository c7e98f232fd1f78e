//! TLS records of any size at any split, changed or cut on their way, once a handshake is over.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::transports::tls::fuzzed::records;

// Each act may be some 40 kB of plaintext.
fuzz_target!(|bytes: &[u8]| if bytes.len() < 64 {
    records(bytes)
});
