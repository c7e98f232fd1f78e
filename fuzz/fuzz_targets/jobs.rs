//! Any JSON as a job: refused, or held against what its protocol has, without a panic. No file is read and
//! nothing is connected, because a job is not resolved here.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_load::job::Job;
use sojourn_load::protocols;

fuzz_target!(|bytes: &[u8]| {
    let Ok(job) = serde_json::from_slice::<Job>(bytes) else { return };
    let Ok(target) = protocols::target(&job.target) else { return };
    let entry = protocols::kind_of(&target);
    if entry.check(&job, &target).is_ok() {
        let _ = entry.shares(&job);
    }
});
