//! tilescope-kernels
