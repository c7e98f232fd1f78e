//! Antagonists: programs that want one resource each, at an intensity that is held and reported.
//!
//! A neighbour that takes what it can get says little of the service beside it: no one knows how
//! much it took. So each antagonist has a unit of progress, is paced by its own progress, and prints
//! every second what was asked, what it did, and how long it waited for a CPU.
//!
//! Reading order: [`intensity`] and [`pace`] (pure), [`words`] (parameters), [`machine`] and [`map`],
//! [`antagonist`] (what one is), [`antagonists`] (the table), [`calibrate`], [`line`] (what is
//! printed), [`job`], [`run`], [`args`] and [`program`].
//!
//! Source: Delimitrou and Kozyrakis, "iBench: Quantifying Interference for Datacenter Applications",
//! IISWC 2013; the square wave: Leverich and Kozyrakis, `EuroSys` 2014, section 4.

pub mod antagonist;
pub mod antagonists;
pub mod args;
pub mod calibrate;
pub mod intensity;
pub mod job;
pub mod line;
pub mod machine;
pub mod map;
pub mod pace;
pub mod program;
pub mod run;
pub mod words;
