//! What can be known of a kernel before it runs, so that checks cost nothing where they cannot find anything.
//!
//! [`addresses`] says which integers addresses are made of; [`pointees`] says which storage a pointer may point to; [`quiet`] which masked loads leave no lane
//! undefined that matters; [`rereads`] which storage a program may load after it stored there.

pub mod addresses;
pub mod pointees;
pub mod quiet;
pub mod rereads;
