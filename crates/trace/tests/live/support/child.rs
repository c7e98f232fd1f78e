//! Processes that a test starts. None outlives it: one that did would hold the output that the tests
//! were given, and whoever waits for its end would wait for ever.

use std::io;
use std::ops::Deref;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// A child that is killed when this goes, also by a failed assertion, and by the kernel when the thread
/// that started it ends in any other way.
pub struct Held(Child);

impl Held {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        Self(bound(command, libc::SIGKILL).spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Deref for Held {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.end();
    }
}

/// The kernel sends `signal` to what `command` starts when the thread that starts it ends: a test is a
/// thread, or all of its process.
pub fn bound(command: &mut Command, signal: i32) -> &mut Command {
    let parent = std::process::id();
    let ends_with_us = move || {
        // SAFETY: two system calls, which allocate nothing.
        let is_orphan = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            libc::getppid() as u32 != parent
        };
        if is_orphan { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(ends_with_us) }
}
