//! The hooks as a plain program, which needs a C compiler and no rights: what they book where and when.

#![allow(clippy::unwrap_used)] // a test that cannot start has failed

mod world;

mod bins;
mod culprit;
mod every;
mod few;
mod ring;
mod slots;
mod wait;
mod who;
