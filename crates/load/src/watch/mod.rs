//! What is seen of the machine while a run goes on: its CPUs, its stops, the server's threads.

pub mod cpu;
pub mod cpu_time;
pub mod outage;
pub mod sentinel;
pub mod server_watch;
