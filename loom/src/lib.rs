//! The generator's own file, compiled against loom's atomics.
//!
//! The lanes' elements are cells here, in which loom sees two threads at the same element.

/// What `border` takes from the crate that it is a part of.
pub mod watch {
    /// Times in which the generator did not run.
    pub mod outage {
        /// As in the generator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Outage {
            /// ns after the start.
            pub start_ns: u64,
            /// ns.
            pub length_ns: u64,
        }
    }
}

#[path = "../../crates/load/src/drive/long/border.rs"]
pub mod border;
