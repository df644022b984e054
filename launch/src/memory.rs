//! The bytes behind a launch: allocations at synthetic addresses.

/// One allocation: storage at a synthetic address.
#[derive(Debug)]
pub struct Allocation {
    /// Name of the tensor that owns it.
    pub name: String,
    /// Synthetic address of its first byte, a multiple of 512.
    pub base: u64,
    /// Its bytes, little-endian elements.
    pub bytes: Vec<u8>,
}

/// All allocations of a launch, by rising address.
#[derive(Debug, Default)]
pub struct Memory {
    /// Indexed by [`crate::AllocationId`].
    pub allocations: Vec<Allocation>,
}
