//! Any JSON as a job: refused or resolved, without a panic. No file is read and nothing is connected:
//! what names a file or takes memory for a plan is set back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::job::Job;
use sojourn_load::protocols;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut job) = serde_json::from_slice::<Job>(bytes) else { return };
    job.items = job.items.min(1000);
    let Ok(target) = protocols::target(&job.target) else { return };
    let entry = protocols::kind_of(&target);
    if entry.check(&job, &target).is_ok() {
        let _ = entry.shares(&job);
    }
});
