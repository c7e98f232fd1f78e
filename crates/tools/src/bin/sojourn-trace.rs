//! `sojourn-trace`: stage breakdown of individual requests. Prints what `sojourn_trace::program` writes.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use sojourn_base::visible::Visible;

fn main() -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The first one ends the trace cleanly, a second one the program.
        let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop));
        let _ = flag::register(signal, Arc::clone(&stop));
    }
    let (mut out, mut talk) = (Visible::new(io::stdout()), Visible::new(io::stderr()));
    ExitCode::from(sojourn_trace::program::main(std::env::args_os(), &stop, &mut out, &mut talk))
}
