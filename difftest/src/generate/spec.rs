//! The launch of a generated kernel, as data that can be made smaller, and as a launch file.

use tilescope_launch::{Dtype, LaunchBuilder, Role, TensorInit};

/// How a generated kernel is launched.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Programs in x and y.
    pub grid: [i64; 2],
    /// Seed of the data.
    pub seed: u64,
    /// Warps per program.
    pub warps: i64,
    /// Tensor arguments.
    pub tensors: Vec<TensorSpec>,
    /// Number arguments.
    pub scalars: Vec<(String, ScalarSpec)>,
}

/// A tensor of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorSpec {
    /// The parameter.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Elements.
    pub len: i64,
    /// What it is filled with, as a launch file writes it; nothing for zeros.
    pub fill: Option<String>,
    /// What the kernel does to it.
    pub role: Role,
}

/// A number argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalarSpec {
    /// An integer or truth value.
    Int(i64),
    /// A float.
    Float(f64),
}

impl Spec {
    /// The launch file of a kernel that lies in the file `kernel`.
    pub fn text(&self, kernel: &str) -> String {
        let mut launch = LaunchBuilder::new(kernel)
            .grid(&self.grid)
            .seed(self.seed)
            .option("num_warps", self.warps);
        for tensor in &self.tensors {
            let shape = [tensor.len];
            let init = match &tensor.fill {
                Some(fill) => TensorInit::fill(tensor.dtype, &shape, fill),
                None => TensorInit::new(tensor.dtype, &shape),
            };
            launch = launch.tensor(&tensor.name, init.role(tensor.role));
        }
        for (name, value) in &self.scalars {
            launch = match *value {
                ScalarSpec::Int(value) => launch.scalar(name, value),
                ScalarSpec::Float(value) => launch.scalar(name, value),
            };
        }
        launch.text()
    }
}
