//! A device that runs many launches, one after the other, and keeps their kernels loaded: code that was seen before is not compiled
//! again. It reads no clock: the caller says how long a kernel is waited for.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use tilescope_diagnostics::{Error, Result};
use tilescope_launch::fault::Fault;
use tilescope_launch::{Launch, Memory};

use crate::device::{Device, Loaded};
use crate::emit::Generated;
use crate::nvrtc::Image;

/// Kernels that stay loaded; beyond these all are unloaded.
const MOST_LOADED: usize = 256;

/// What a caller says while a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Ask again.
    On,
    /// The user would not wait any longer.
    Interrupted,
    /// It should have ended long ago.
    TooLong,
}

/// The machine code of a kernel.
pub enum Code<'a> {
    /// Made from the kernel's source, if that was not seen before, by a compiler that is told the architecture.
    Source(&'a mut dyn FnMut(&str) -> Result<Image>),
    /// Made by somebody else; the kernel has no source.
    Compiled(&'a Image),
}

impl Code<'_> {
    /// Stands for the code: the same for the same source, or the same image.
    fn identity(&self, kernel: &Generated) -> [u8; 32] {
        match self {
            Code::Source(_) => Sha256::digest(&kernel.source).into(),
            Code::Compiled(image) => Sha256::digest(&image.code).into(),
        }
    }
}

/// How a launch ended.
#[derive(Debug)]
pub enum Ended {
    /// The memory is as the kernel left it.
    Finished {
        /// What a checked build saw.
        faults: Vec<Fault>,
        /// The buffer of a build that dumps ([`crate::dump::lines`]).
        dump: Vec<u8>,
        /// Where each allocation was.
        bases: Vec<u64>,
    },
    /// The user would not wait: the kernel may still run, and nothing more can be run here.
    Interrupted,
    /// It did not end, or the driver stopped it: in words. Nothing more can be run here.
    Lost(String),
}

/// A device with the kernels that were run on it.
#[derive(Debug)]
pub struct Session {
    device: Device,
    architecture: String,
    loaded: HashMap<[u8; 32], Loaded>,
    compiled: u32,
    lost: bool,
}

impl Session {
    /// On a device that this thread opened or entered.
    pub fn new(device: Device) -> Session {
        Session {
            architecture: device.architecture(),
            device,
            loaded: HashMap::new(),
            compiled: 0,
            lost: false,
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many kernels were asked of their compilers.
    pub fn compiled(&self) -> u32 {
        self.compiled
    }

    /// Why a launch cannot be run on this device at all.
    ///
    /// # Errors
    /// Unsupported: too much shared memory, storage that is only made where it is touched, a grid that no GPU takes.
    pub fn takes(&self, kernel: &Generated, launch: &Launch, memory: &Memory) -> Result<()> {
        self.device.takes(kernel)?;
        self.device.copies(memory)?;
        self.device.grid(launch).map(|_| ())
    }

    /// Runs a launch on its memory. `wait` is asked again and again while the kernel runs.
    ///
    /// # Errors
    /// What [`takes`](Session::takes), the compiler and the driver say; a device that was lost before.
    pub fn run(
        &mut self,
        kernel: &Generated,
        code: Code<'_>,
        launch: &Launch,
        memory: &mut Memory,
        wait: &mut dyn FnMut() -> Wait,
    ) -> Result<Ended> {
        if self.lost {
            return Err(Error::unsupported(
                "the GPU is lost to this process: a kernel did not end there, or was stopped",
            ));
        }
        self.takes(kernel, launch, memory)?;
        let identity = code.identity(kernel);
        if !self.loaded.contains_key(&identity) {
            if self.loaded.len() >= MOST_LOADED {
                self.loaded.clear();
            }
            self.compiled += 1;
            let loaded = match code {
                Code::Source(compile) => self.device.load(kernel, &compile(&self.architecture)?)?,
                Code::Compiled(image) => self.device.load(kernel, image)?,
            };
            self.loaded.insert(identity, loaded);
        }
        let Some(loaded) = self.loaded.get(&identity) else {
            return Err(Error::unsupported("the kernel is not loaded"));
        };
        let device = &self.device;
        let mut buffers = device.upload(memory, &launch.tensors)?;
        if kernel.slots > 0 {
            device.watch(&mut buffers, kernel, launch, memory)?;
        }
        device.scratch(&mut buffers, kernel, launch)?;
        device.start(loaded, kernel, launch, &buffers)?;
        let ended = loop {
            match device.is_finished() {
                Ok(true) => break None,
                Ok(false) => {}
                Err(error) => break Some(Ended::Lost(error.message)),
            }
            match wait() {
                Wait::On => {}
                Wait::Interrupted => break Some(Ended::Interrupted),
                Wait::TooLong => break Some(Ended::Lost(String::from("the kernel does not end"))),
            }
        };
        if let Some(ended) = ended {
            // What still runs still uses them; the driver stops it when the process ends.
            std::mem::forget(buffers);
            std::mem::forget(std::mem::take(&mut self.loaded));
            self.lost = true;
            return Ok(ended);
        }
        device.download(&buffers, memory, &launch.tensors)?;
        Ok(Ended::Finished {
            faults: device.faults(&buffers, kernel, launch, memory)?,
            dump: device.dumped(&buffers)?,
            bases: buffers.bases(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that Triton compiled has no source: two of them were once taken for one, and the first was run for both.
    #[test]
    fn compiled_kernels_without_source_are_told_apart() {
        let kernel = |source: &str| Generated {
            source: source.into(),
            name: "kernel".into(),
            threads: 32,
            shared_bytes: 0,
            parameters: Vec::new(),
            places: Vec::new(),
            dumped: None,
            slots: 0,
            layouts: Vec::new(),
        };
        let image = |code: &[u8]| Image {
            code: code.to_vec(),
            resources: Default::default(),
        };
        let (one, other) = (image(b"one"), image(b"other"));
        let bare = kernel("");
        let of = |image: &Image| Code::Compiled(image).identity(&bare);
        assert_eq!(of(&one), of(&image(b"one")));
        assert_ne!(of(&one), of(&other));
        let of_source = |source| Code::Source(&mut |_| Ok(image(b"one"))).identity(&kernel(source));
        assert_eq!(of_source("a"), of_source("a"));
        assert_ne!(of_source("a"), of_source("b"));
    }
}
