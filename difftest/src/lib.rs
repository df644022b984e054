//! Differential testing: the same kernel by several paths, and where they may differ.
//!
//! [`twin`] makes of a kernel its float64 twin: a kernel that computes what the first one does, the same with every
//! float widened to f64, and a bound on how far any correct path may be from that.
//!
//! Runs nothing itself, prints nothing, reads no file.

pub mod twin;
