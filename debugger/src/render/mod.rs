//! Replies as text for people and as JSON for programs. Source lines come from the caller.

pub mod json;
pub mod text;
