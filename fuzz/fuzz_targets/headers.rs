//! Any bytes as the header blocks of one HTTP/2 connection, which remembers fields from block to block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::protocols::http2::fuzzed::header_blocks;

fuzz_target!(|bytes: &[u8]| header_blocks(bytes));
