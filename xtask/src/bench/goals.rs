//! What each row of the benchmark is meant to reach.

/// A goal for the time of one launch.
#[derive(Clone, Copy)]
pub enum Goal {
    /// At most so many times what PyTorch takes.
    OfTorch(f64),
    /// At least so many floating-point operations per second and core, of the launch's number of them.
    Rate { flop: f64, per_core: f64 },
    /// At most so many seconds.
    Seconds(f64),
    /// None but what holds for all rows.
    None,
}

/// What is known of a launch beforehand.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its goal.
    pub goal: Goal,
    /// Whether Triton's interpreter ends it within minutes.
    pub triton: bool,
    /// Bytes of its tensors.
    pub arguments: f64,
}

/// How many times faster than Triton's interpreter every launch is to be.
pub const OF_TRITON: f64 = 100.0;

/// How much longer a launch may take for its checks.
pub const CHECKS: f64 = 0.25;

/// How much memory a launch may take: so many times its arguments, and so many bytes.
pub const MEMORY: (f64, f64) = (2.0, 64e6);

/// What is known of the launch of this name.
pub fn of(name: &str) -> Case {
    let goal = match name {
        "vadd-4194304" | "softmax-1823x781" | "softmax-4096x4096" | "layernorm-1151x8192" => {
            Goal::OfTorch(1.3)
        }
        "gelu_tanh-2048x4096" | "gelu_erf-2048x4096" | "attention-1x2x512x64" | "dropout-1048576" => {
            Goal::OfTorch(1.0)
        }
        "scan_cumsum-1024x1000" | "scan_assoc-1024x1000" | "hist_atomic-1048576" | "hist_block-1048576" => {
            Goal::OfTorch(2.0)
        }
        "matmul-512" => Goal::Rate {
            flop: 2.0 * 512f64.powi(3),
            per_core: 110e9,
        },
        "matmul-1024" => Goal::Rate {
            flop: 2.0 * 1024f64.powi(3),
            per_core: 110e9,
        },
        // 500 times faster than the 20 s of a checker that runs TTIR with NumPy.
        "vadd-16777216" => Goal::Seconds(20.0 / 500.0),
        "one_element-1048576" => Goal::Seconds(0.5),
        _ => Goal::None,
    };
    Case {
        goal,
        triton: name != "one_element-1048576",
        arguments: arguments(name),
    }
}

/// Bytes of the tensors of a launch, by the kernel and the sizes in its name.
fn arguments(name: &str) -> f64 {
    let (kernel, sizes) = name.split_once('-').unwrap_or((name, ""));
    let elements: f64 = sizes
        .split('x')
        .filter_map(|size| size.parse::<f64>().ok())
        .product();
    // Per element of the size in the name; what is smaller does not matter here.
    elements
        * match kernel {
            "vadd" => 12.0,
            "layernorm" | "hist_atomic" | "hist_block" => 4.0,
            // The name has one side of the square.
            "matmul" => 3.0 * 2.0 * elements,
            _ => 8.0,
        }
}
