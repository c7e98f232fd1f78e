//! A program that a signal ends cleanly.

use std::env::{ArgsOs, args_os};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use sojourn_base::visible::Visible;

/// Runs `main` on this process's words and streams. The first SIGINT or SIGTERM sets its flag, so that it
/// ends with what it has; a second one ends the process.
pub fn until_stopped(
    main: impl FnOnce(ArgsOs, &Arc<AtomicBool>, &mut dyn Write, &mut dyn Write) -> u8,
) -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop));
        let _ = flag::register(signal, Arc::clone(&stop));
    }
    let (mut out, mut talk) = (Visible::new(io::stdout()), Visible::new(io::stderr()));
    ExitCode::from(main(args_os(), &stop, &mut out, &mut talk))
}
