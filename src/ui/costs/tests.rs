//! Test: what the panel says.
