//! Synthetic services with known service times.
