//! The closed loop of `find_max`: every connection keeps `depth` requests in flight.
//!
//! The plan gives items and operations; a request is intended when there is room for it, which is
//! when it is sent. So its sojourn time is the time on the wire, and says nothing about a load
//! that does not wait for replies. Its use is the peak rate.

use crate::drive::{Drive, Setup};
use crate::marks::ThreadRun;

/// Runs until the end of the load, or until the plan is used up.
pub fn run(setup: Setup) -> ThreadRun {
    let mut drive = Drive::new(setup);
    loop {
        let now_ns = drive.now();
        if drive.is_closed_over(now_ns) {
            return drive.finish_closed();
        }
        drive.fill(now_ns);
        drive.probe(now_ns);
        let patience = drive.closed_patience();
        drive.poll_and_mark(now_ns, patience);
    }
}
