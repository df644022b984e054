//! The second engine: generated CUDA C++ on a GPU, through NVRTC and the driver, with a cache of compiled kernels.

use std::path::PathBuf;
use std::time::Instant;

use tilescope_diagnostics::{Error, Launched};
use tilescope_gpu_backend::cache::Cache;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Form;
use tilescope_gpu_backend::{Generated, Image, Nvrtc, Options, generate};
use tilescope_launch::{Launch, Memory};

use crate::engine::{Kernel, Opened};

type Result<T> = std::result::Result<T, Box<Error>>;

/// A device and a compiler.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    nvrtc: Nvrtc,
    cache: Option<Cache>,
}

/// The folder of compiled kernels: `$TILESCOPE_CACHE`, else `tilescope` in the user's folder for caches.
pub fn cache() -> Option<Cache> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = set("TILESCOPE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("tilescope")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/tilescope")))?;
    Some(Cache::new(folder))
}

/// NVRTC: from `$TILESCOPE_NVRTC`, else from where the system looks.
///
/// # Errors
/// Unsupported, when it is not there.
pub fn nvrtc() -> Result<Nvrtc> {
    let folder = std::env::var_os("TILESCOPE_NVRTC").filter(|value| !value.is_empty());
    Nvrtc::find(folder.map(PathBuf::from).as_deref())
}

/// Generates the code of a launch, with the lines of the author's source as comments.
///
/// # Errors
/// What is not supported, by name and place.
pub fn generated(opened: &Opened, launch: usize) -> Result<Generated> {
    let kernel: &Kernel = &opened.kernels[launch];
    let lines = |file: &str, line: u32| opened.source_line(launch, file, line);
    generate(
        &kernel.module,
        kernel.function,
        &opened.bound.launches[launch],
        Options::default(),
        &lines,
    )
}

impl Gpu {
    /// Opens a device.
    ///
    /// # Errors
    /// What is missing.
    pub fn open(ordinal: u32) -> Result<Gpu> {
        Ok(Gpu {
            device: Device::open(ordinal)?,
            nvrtc: nvrtc()?,
            cache: cache(),
        })
    }

    fn compile(&self, kernel: &Generated) -> Result<Image> {
        let (architecture, version) = (self.device.architecture(), self.nvrtc.version());
        if let Some(image) = self
            .cache
            .as_ref()
            .and_then(|c| c.find(kernel, &architecture, version))
        {
            return Ok(image);
        }
        let image = self.nvrtc.compile(kernel, &architecture, Form::Cubin)?;
        if let Some(cache) = &self.cache {
            cache.store(kernel, &architecture, version, &image);
        }
        Ok(image)
    }

    /// Runs one launch on its memory: copied there, run, copied back.
    ///
    /// # Errors
    /// What is not supported; what the driver says.
    pub fn run(&self, opened: &Opened, index: usize, memory: &mut Memory) -> Result<Launched> {
        let launch: &Launch = &opened.bound.launches[index];
        let kernel = generated(opened, index)?;
        let image = self.compile(&kernel)?;
        let loaded = self.device.load(&kernel, &image)?;
        let buffers = self.device.upload(memory, &launch.tensors)?;
        let started = Instant::now();
        self.device.start(&loaded, &kernel, launch, &buffers)?;
        self.device.finish()?;
        let elapsed = started.elapsed();
        self.device.download(&buffers, memory, &launch.tensors)?;
        Ok(Launched {
            launch: launch.name.clone(),
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            programs: launch.grid.iter().fold(1, |n: u64, &g| n.saturating_mul(g)),
            elapsed_s: elapsed.as_secs_f64(),
            outputs: Vec::new(),
            prints: Vec::new(),
            findings: Vec::new(),
            findings_cut: false,
            interrupted: false,
            notes: Vec::new(),
        })
    }

    /// What a report says about where a launch ran.
    pub fn note(&self) -> String {
        format!("run on {}, without checks", self.device.name())
    }
}
