//! Parameters that the launch leaves to `@triton.heuristics` and `@triton.autotune`.

use super::kernel::{Chosen, Kernel};
use crate::cx::{Cx, Result};
use crate::request::Request;

impl Cx<'_> {
    /// What heuristics, else the first configuration, say of the parameters that the request leaves out.
    pub(super) fn choose(&mut self, _kernel: &Kernel, _request: &Request) -> Result<Chosen> {
        Ok(Chosen::default())
    }
}
