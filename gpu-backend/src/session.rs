//! A device that runs many launches, one after the other, and keeps their kernels loaded: code that was seen before is not compiled
//! again. It reads no clock: the caller says how long a kernel is waited for.

use std::collections::HashMap;

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
    loaded: HashMap<String, Loaded>,
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

    /// Runs a launch on its memory. `identity` stands for the code: with one that was seen before `compile`, which is told the
    /// architecture, is not called. `wait` is asked again and again while the kernel runs.
    ///
    /// # Errors
    /// What [`takes`](Session::takes), the compiler and the driver say; a device that was lost before.
    pub fn run(
        &mut self,
        kernel: &Generated,
        identity: &str,
        compile: &mut dyn FnMut(&str) -> Result<Image>,
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
        if !self.loaded.contains_key(identity) {
            if self.loaded.len() >= MOST_LOADED {
                self.loaded.clear();
            }
            self.compiled += 1;
            let image = compile(&self.architecture)?;
            let loaded = self.device.load(kernel, &image)?;
            self.loaded.insert(identity.to_string(), loaded);
        }
        let Some(loaded) = self.loaded.get(identity) else {
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
