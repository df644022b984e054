//! The GPU backend: kernels as CUDA C++, in one layout per tile shape, compiled by NVRTC and run through the driver.
//!
//! ```text
//! IR ──analysis──▶ facts ──plan──▶ layouts ──emit──▶ CUDA C++ ──NVRTC──▶ cubin ──driver──▶ GPU
//!                                                        └── g++ and cpu.h ──▶ CPU, in tests
//! ```

pub mod analysis;
pub mod cache;
pub mod checked;
pub mod device;
pub mod dump;
pub mod emit;
pub mod layout;
pub mod nvrtc;
pub mod prints;
pub mod session;
pub mod triton;

pub use emit::{Generated, Options, Parameter, generate, generate_dumping};
pub use nvrtc::{Image, Nvrtc};
