//! A GPU through the driver: memory, launches, timing. Loaded at run time; without it an error says what is missing.

#![allow(unsafe_code, reason = "calls a C library")]

use std::ffi::{CString, c_void};

use cudarc::driver::{DriverError, result, sys};
use tilescope_diagnostics::{Error, Result};
use tilescope_ir::Module;
use tilescope_launch::fault::{Fault, Line};
use tilescope_launch::{Launch, Memory, Tensor};

use crate::checked;
use crate::emit::{Generated, Parameter};
use crate::nvrtc::Image;

/// Shared memory that a block has without asking, in bytes.
const PLAIN_SHARED: u32 = 48 << 10;

/// A device, with a context and a stream.
#[derive(Debug)]
pub struct Device {
    context: sys::CUcontext,
    stream: sys::CUstream,
    name: String,
    capability: (i32, i32),
    driver: i32,
    most_shared: i32,
}

/// A kernel on a device.
#[derive(Debug)]
pub struct Loaded {
    module: sys::CUmodule,
    function: sys::CUfunction,
    threads: u32,
    shared_bytes: u32,
}

/// A launch's allocations on a device.
#[derive(Debug)]
pub struct Buffers {
    addresses: Vec<(sys::CUdeviceptr, usize)>,
    /// Of a checked build: the table of tensors and the table of faults with its size.
    tables: Option<(sys::CUdeviceptr, sys::CUdeviceptr, usize)>,
    /// Memory that the kernel has for itself; 0 for none.
    scratch: sys::CUdeviceptr,
    /// The buffer of prints; 0 for none.
    prints: sys::CUdeviceptr,
    /// The buffer of a dump; 0 for none.
    dump: sys::CUdeviceptr,
}

/// What the driver reports, in words; `what` was being done.
fn translated(error: DriverError, what: &str) -> Box<Error> {
    use sys::cudaError_enum as E;
    let code = error.0;
    match code {
        E::CUDA_ERROR_NO_DEVICE => Error::unsupported("there is no GPU: the driver finds no CUDA device"),
        E::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            Error::unsupported("the GPU's driver is too old: version 525 or later is needed")
        }
        E::CUDA_ERROR_UNSUPPORTED_PTX_VERSION | E::CUDA_ERROR_NO_BINARY_FOR_GPU => Error::unsupported(
            "the GPU's driver is older than the installed NVRTC: update it, or install an older NVRTC",
        ),
        E::CUDA_ERROR_OUT_OF_MEMORY => Error::input(format!("not enough memory on the GPU: {what}")),
        E::CUDA_ERROR_ILLEGAL_ADDRESS | E::CUDA_ERROR_MISALIGNED_ADDRESS => {
            Error::input("the kernel accessed memory on the GPU that it may not, and was stopped")
                .help("run it without --backend gpu: the checks of the interpreter say where")
        }
        _ => Error::unsupported(format!("the GPU's driver fails at {what}: {code:?}")),
    }
}

fn architecture((major, minor): (i32, i32)) -> String {
    let suffix = if major >= 9 { "a" } else { "" };
    format!("sm_{major}{minor}{suffix}")
}

// SAFETY: context and stream are handles of the process; the driver may be called from any thread that made the context current.
unsafe impl Send for Device {}

trait Translate<T> {
    fn at(self, what: &str) -> Result<T>;
}

impl<T> Translate<T> for std::result::Result<T, DriverError> {
    fn at(self, what: &str) -> Result<T> {
        self.map_err(|error| translated(error, what))
    }
}

impl Device {
    /// Opens the device with this number.
    ///
    /// # Errors
    /// Unsupported, without a driver or such a device.
    pub fn open(ordinal: u32) -> Result<Device> {
        Device::open_telling(ordinal, |_| ())
    }

    /// The same; says the architecture as soon as it is known, which is long before a context is made.
    ///
    /// # Errors
    /// Unsupported, without a driver or such a device.
    pub fn open_telling(ordinal: u32, tell: impl FnOnce(&str)) -> Result<Device> {
        // SAFETY: loads a library by its well-known name; its initialisers are NVIDIA's.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::unsupported(
                "there is no GPU driver: libcuda.so is not found",
            ));
        }
        result::init().at("its start")?;
        let count = result::device::get_count().at("counting devices")?;
        if i64::from(ordinal) >= i64::from(count) {
            return Err(Error::unsupported(format!(
                "there is no GPU {ordinal}: the driver finds {count}"
            )));
        }
        let device = result::device::get(ordinal as i32).at("opening the device")?;
        let mut driver = 0;
        // SAFETY: `driver` lives until the call returns.
        unsafe { sys::cuDriverGetVersion(&mut driver) };
        use sys::CUdevice_attribute as A;
        // SAFETY: the device is the driver's own.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) };
        let capability = (
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR).at("asking for its kind")?,
            attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR).at("asking for its kind")?,
        );
        tell(&architecture(capability));
        let most_shared = attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .at("asking for its memory")?;
        // SAFETY: the primary context is kept for the process's lifetime.
        let context = unsafe { result::primary_ctx::retain(device) }.at("making a context")?;
        // SAFETY: the context was just made.
        unsafe { result::ctx::set_current(context) }.at("making a context")?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).at("making a stream")?;
        Ok(Device {
            context,
            stream,
            name: result::device::get_name(device).unwrap_or_default(),
            capability,
            driver,
            most_shared,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The driver's version, as CUDA numbers it: 13000 is 13.0.
    pub fn driver(&self) -> i32 {
        self.driver
    }

    /// The architecture to compile for: `sm_90a`.
    pub fn architecture(&self) -> String {
        architecture(self.capability)
    }

    /// Makes the device usable in this thread, where another one opened it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn enter(&self) -> Result<()> {
        // SAFETY: the primary context is kept for the process's lifetime.
        unsafe { result::ctx::set_current(self.context) }.at("taking over a context")
    }

    /// Whether a kernel can be run here.
    pub(crate) fn takes(&self, kernel: &Generated) -> Result<()> {
        match i64::from(kernel.shared_bytes) > i64::from(self.most_shared) {
            true => Err(Error::unsupported(format!(
                "`{}` wants {} bytes of shared memory; {} has {} for a block",
                kernel.name, kernel.shared_bytes, self.name, self.most_shared
            ))),
            false => Ok(()),
        }
    }

    /// Whether a launch's memory can be copied to a GPU.
    pub(crate) fn copies(&self, memory: &Memory) -> Result<()> {
        match memory.allocations.iter().find(|a| a.deferred.is_some()) {
            Some(allocation) => Err(Error::unsupported(format!(
                "`{}` is too large to be copied to a GPU: its data are only made where they are touched",
                allocation.name
            ))),
            None => Ok(()),
        }
    }

    /// The programs of a launch in each dimension.
    pub(crate) fn grid(&self, launch: &Launch) -> Result<(u32, u32, u32)> {
        let [x, y, z] = launch.grid;
        if x > 0x7fff_ffff || y > 65535 || z > 65535 {
            return Err(Error::unsupported(format!(
                "a grid of {x} x {y} x {z} programs: a GPU takes 2147483647 x 65535 x 65535"
            )));
        }
        Ok((x as u32, y as u32, z as u32))
    }

    /// Loads a compiled kernel.
    ///
    /// # Errors
    /// More shared memory than the device has; what the driver says.
    pub fn load(&self, kernel: &Generated, image: &Image) -> Result<Loaded> {
        self.takes(kernel)?;
        // SAFETY: an ELF image that NVRTC made; the driver copies it.
        let module =
            unsafe { result::module::load_data(image.code.as_ptr().cast()) }.at("loading the kernel")?;
        let name = CString::new(kernel.name.as_str()).unwrap_or_default();
        // SAFETY: the module was just loaded, and is of use only while it is.
        let function = unsafe { result::module::get_function(module, name) }.at("finding the kernel")?;
        if kernel.shared_bytes > PLAIN_SHARED {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is of the module above.
            unsafe { result::function::set_function_attribute(function, most, kernel.shared_bytes as i32) }
                .at("asking for shared memory")?;
        }
        Ok(Loaded {
            module,
            function,
            threads: kernel.threads,
            shared_bytes: kernel.shared_bytes,
        })
    }

    /// Copies a launch's memory to the device.
    ///
    /// # Errors
    /// Not enough memory there; storage that is only made when it is touched.
    pub fn upload(&self, memory: &Memory, tensors: &[Tensor]) -> Result<Buffers> {
        let total: usize = memory.allocations.iter().map(|a| a.bytes.len()).sum();
        let mut buffers = Buffers {
            addresses: Vec::new(),
            tables: None,
            scratch: 0,
            prints: 0,
            dump: 0,
        };
        self.copies(memory)?;
        for allocation in &memory.allocations {
            let size = allocation.bytes.len();
            // SAFETY: fresh memory of that size, freed when the buffers are dropped.
            let address = unsafe { result::malloc_sync(size.max(1)) }.at(&format!(
                "`{}` wants {size} bytes, all arguments {total}",
                allocation.name
            ))?;
            buffers.addresses.push((address, size));
            // SAFETY: the buffer has the size of the bytes.
            unsafe { result::memcpy_htod_sync(address, &allocation.bytes) }.at("copying to the GPU")?;
        }
        for tensor in tensors.iter().filter(|t| !t.pointers.is_empty()) {
            let addresses = tensor
                .pointers
                .iter()
                .map(|id| tensors.get(id.0 as usize).map_or(0, |t| buffers.address(t)));
            let addresses: Vec<u64> = addresses.collect();
            let base = buffers
                .addresses
                .get(tensor.allocation.0 as usize)
                .map_or(0, |a| a.0);
            for run in tensor.runs() {
                for i in 0..run.count {
                    let place = base.wrapping_add_signed((run.position + i as i64 * run.stride) * 8);
                    let value = addresses.get((run.first + i) as usize).copied().unwrap_or(0);
                    // SAFETY: the element lies in the tensor's allocation.
                    unsafe { result::memcpy_htod_sync(place, &[value]) }.at("copying to the GPU")?;
                }
            }
        }
        self.settle()?;
        Ok(buffers)
    }

    /// Gives a launch of a checked build its tables.
    ///
    /// # Errors
    /// Not enough memory there.
    pub fn watch(
        &self,
        buffers: &mut Buffers,
        kernel: &Generated,
        launch: &Launch,
        memory: &Memory,
    ) -> Result<()> {
        let tensors = checked::tensor_table(launch, memory, &buffers.bases());
        let faults = checked::fault_table(kernel.slots);
        let what = || format!("the table of faults wants {} bytes", faults.len());
        // SAFETY: fresh memory of these sizes, freed when the buffers are dropped, and filled within them.
        unsafe {
            let first = result::malloc_sync(tensors.len()).at(&what())?;
            let second = result::malloc_sync(faults.len()).at(&what())?;
            buffers.tables = Some((first, second, faults.len()));
            result::memcpy_htod_sync(first, &tensors).at("copying to the GPU")?;
            result::memcpy_htod_sync(second, &faults).at("copying to the GPU")?;
        }
        self.settle()
    }

    /// Gives a launch the memory that its kernel wants for itself, and buffers for what it prints and dumps.
    ///
    /// # Errors
    /// Not enough memory there.
    pub fn scratch(&self, buffers: &mut Buffers, kernel: &Generated, launch: &Launch) -> Result<()> {
        let bytes = kernel.parameters.iter().map(|parameter| match parameter {
            Parameter::Scratch { bytes } => *bytes,
            _ => 0,
        });
        let programs = launch.grid.iter().fold(1u64, |n, &g| n.saturating_mul(g));
        let bytes = bytes.max().unwrap_or(0).saturating_mul(programs);
        if bytes > 0 {
            // SAFETY: fresh memory of that size, freed when the buffers are dropped.
            buffers.scratch = unsafe { result::malloc_sync(bytes as usize) }
                .at(&format!("the kernel wants {bytes} bytes for itself"))?;
        }
        if let Some(program) = kernel.dumped {
            let buffer = crate::dump::buffer(program, crate::dump::BUFFER_BYTES);
            // SAFETY: fresh memory of that size, freed when the buffers are dropped, and filled within it.
            unsafe {
                buffers.dump = result::malloc_sync(buffer.len())
                    .at(&format!("what is dumped wants {} bytes", buffer.len()))?;
                result::memcpy_htod_sync(buffers.dump, &buffer).at("copying to the GPU")?;
            }
            self.settle()?;
        }
        if kernel.parameters.contains(&Parameter::Prints) {
            let buffer = crate::prints::buffer();
            // SAFETY: fresh memory of that size, freed when the buffers are dropped, and filled within it.
            unsafe {
                buffers.prints = result::malloc_sync(buffer.len())
                    .at(&format!("what is printed wants {} bytes", buffer.len()))?;
                result::memcpy_htod_sync(buffers.prints, &buffer).at("copying to the GPU")?;
            }
            self.settle()?;
        }
        Ok(())
    }

    /// What a launch printed, once it is finished; true if some of it was lost.
    ///
    /// # Errors
    /// What the driver says.
    pub fn printed(
        &self,
        buffers: &Buffers,
        kernel: &Generated,
        module: &Module,
    ) -> Result<(Vec<Line>, bool)> {
        if buffers.prints == 0 {
            return Ok((Vec::new(), false));
        }
        let mut buffer = vec![0u8; crate::prints::BUFFER_BYTES];
        // SAFETY: the buffer has the size that it was made with.
        unsafe { result::memcpy_dtoh_sync(&mut buffer, buffers.prints) }.at("copying from the GPU")?;
        Ok(crate::prints::lines(&buffer, module, kernel))
    }

    /// The buffer of a launch that dumps, once it is finished; empty for others.
    ///
    /// # Errors
    /// What the driver says.
    pub fn dumped(&self, buffers: &Buffers) -> Result<Vec<u8>> {
        if buffers.dump == 0 {
            return Ok(Vec::new());
        }
        let mut buffer = vec![0u8; crate::dump::BUFFER_BYTES];
        // SAFETY: the buffer has the size that it was made with.
        unsafe { result::memcpy_dtoh_sync(&mut buffer, buffers.dump) }.at("copying from the GPU")?;
        Ok(buffer)
    }

    /// What a launch of a checked build found, once it is finished.
    ///
    /// # Errors
    /// What the driver says.
    pub fn faults(
        &self,
        buffers: &Buffers,
        kernel: &Generated,
        launch: &Launch,
        memory: &Memory,
    ) -> Result<Vec<Fault>> {
        let Some((_, address, size)) = buffers.tables else {
            return Ok(Vec::new());
        };
        let mut table = vec![0u8; size];
        // SAFETY: the table has the size that it was made with.
        unsafe { result::memcpy_dtoh_sync(&mut table, address) }.at("copying from the GPU")?;
        Ok(checked::faults(
            &table,
            &kernel.places,
            launch,
            memory,
            &buffers.bases(),
        ))
    }

    /// Memory for tensors, filled with repetitions of a pattern for each type; for measuring.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn blank(
        &self,
        tensors: &[Tensor],
        pattern: &dyn Fn(tilescope_launch::Dtype) -> Vec<u8>,
    ) -> Result<Buffers> {
        let mut buffers = Buffers {
            addresses: Vec::new(),
            tables: None,
            scratch: 0,
            prints: 0,
            dump: 0,
        };
        for tensor in tensors {
            let size = tensor.elements() as usize * tensor.dtype.bytes();
            // SAFETY: fresh memory of that size, freed when the buffers are dropped.
            let address = unsafe { result::malloc_sync(size.max(1)) }
                .at(&format!("`{}` wants {size} bytes", tensor.name))?;
            buffers.addresses.push((address, size));
            let pattern = pattern(tensor.dtype);
            let mut done = pattern.len().min(size);
            // SAFETY: within the buffer.
            unsafe { result::memcpy_htod_sync(address, &pattern[..done]) }.at("copying to the GPU")?;
            while done < size {
                let more = done.min(size - done);
                // SAFETY: both parts lie in the buffer and do not overlap.
                unsafe { result::memcpy_dtod_sync(address + done as u64, address, more) }
                    .at("filling memory")?;
                done += more;
            }
        }
        self.settle()?;
        Ok(buffers)
    }

    /// Copies one allocation back, by its number.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(&self, buffers: &Buffers, index: usize) -> Result<Vec<u8>> {
        let Some(&(address, size)) = buffers.addresses.get(index) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has the size of the bytes.
        unsafe { result::memcpy_dtoh_sync(&mut bytes, address) }.at("copying from the GPU")?;
        Ok(bytes)
    }

    /// Waits for copies to the device. Those from ordinary memory return before they are done, and the stream of the launches does not
    /// wait for them.
    fn settle(&self) -> Result<()> {
        result::ctx::synchronize().at("copying to the GPU")
    }

    /// Copies the allocations back.
    ///
    /// # Errors
    /// What the driver says.
    pub fn download(&self, buffers: &Buffers, memory: &mut Memory, tensors: &[Tensor]) -> Result<()> {
        for (index, (allocation, &(address, _))) in
            memory.allocations.iter_mut().zip(&buffers.addresses).enumerate()
        {
            // Addresses are of no use here.
            if tensors
                .iter()
                .any(|t| t.allocation.0 as usize == index && !t.pointers.is_empty())
            {
                continue;
            }
            // SAFETY: the buffer has the size of the bytes.
            unsafe { result::memcpy_dtoh_sync(&mut allocation.bytes[..], address) }
                .at("copying from the GPU")?;
        }
        Ok(())
    }

    /// Starts a kernel; it may still run when this returns.
    ///
    /// # Errors
    /// A grid that no GPU takes; what the driver says.
    pub fn start(
        &self,
        loaded: &Loaded,
        kernel: &Generated,
        launch: &Launch,
        buffers: &Buffers,
    ) -> Result<()> {
        if launch.grid.contains(&0) {
            return Ok(());
        }
        let grid = self.grid(launch)?;
        let mut values: Vec<u64> = kernel
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Tensor(id) => launch
                    .tensors
                    .get(id.0 as usize)
                    .map_or(0, |t| buffers.address(t)),
                Parameter::Scalar { bits, .. } => *bits,
                Parameter::Tensors => buffers.tables.map_or(0, |t| t.0),
                Parameter::Faults => buffers.tables.map_or(0, |t| t.1),
                Parameter::Scratch { .. } => buffers.scratch,
                Parameter::Prints => buffers.prints,
                Parameter::Dump => buffers.dump,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
        // SAFETY: as many parameters as the kernel has, each at least as large as its type (numbers are little-endian); buffers
        // outlive the kernel, as they are freed by the driver after it.
        unsafe {
            result::launch_kernel(
                loaded.function,
                grid,
                (loaded.threads, 1, 1),
                loaded.shared_bytes,
                self.stream,
                &mut pointers,
            )
        }
        .at("starting the kernel")
    }

    /// Whether everything that was started has ended.
    ///
    /// # Errors
    /// What went wrong in a kernel.
    pub fn is_finished(&self) -> Result<bool> {
        // SAFETY: the stream is this device's own.
        match unsafe { sys::cuStreamQuery(self.stream) } {
            sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
            other => other.result().at("running the kernel").map(|()| true),
        }
    }

    /// Waits for everything that was started.
    ///
    /// # Errors
    /// What went wrong in a kernel.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: the stream is this device's own.
        unsafe { result::stream::synchronize(self.stream) }.at("running the kernel")
    }

    /// Microseconds per call, `repeats` times: `calls` calls of `start` are captured in one graph, which is replayed between two events.
    ///
    /// # Errors
    /// What `start` and the driver say.
    pub fn time(
        &self,
        calls: usize,
        repeats: usize,
        start: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is this device's own; what is captured is launches on it.
        unsafe { result::stream::begin_capture(self.stream, mode) }.at("recording launches")?;
        let started = (0..calls).try_for_each(&mut *start);
        // SAFETY: capture was begun above.
        let graph = unsafe { result::stream::end_capture(self.stream) }.at("recording launches")?;
        started?;
        let mut executable: sys::CUgraphExec = std::ptr::null_mut();
        // SAFETY: the graph was just captured.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0) }
            .result()
            .at("preparing launches")?;
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let (begin, end) = (
            result::event::create(flags).at("timing")?,
            result::event::create(flags).at("timing")?,
        );
        let mut times = Vec::new();
        for round in 0..repeats + 3 {
            // SAFETY: events, stream and graph are alive.
            let time = unsafe {
                result::event::record(begin, self.stream).at("timing")?;
                result::graph::launch(executable, self.stream).at("timing")?;
                result::event::record(end, self.stream).at("timing")?;
                result::stream::synchronize(self.stream).at("running the kernel")?;
                result::event::elapsed(begin, end).at("timing")?
            };
            if round >= 3 {
                times.push(f64::from(time) * 1e3 / calls as f64);
            }
        }
        // SAFETY: made above, destroyed once.
        unsafe {
            let _ = result::event::destroy(begin);
            let _ = result::event::destroy(end);
            let _ = result::graph::exec_destroy(executable);
            let _ = result::graph::destroy(graph);
        }
        Ok(times)
    }
}

impl Buffers {
    /// Where each allocation begins.
    pub(crate) fn bases(&self) -> Vec<u64> {
        self.addresses.iter().map(|a| a.0).collect()
    }

    /// Address of a tensor's element (0, …, 0).
    fn address(&self, tensor: &Tensor) -> u64 {
        let base = self
            .addresses
            .get(tensor.allocation.0 as usize)
            .map_or(0, |a| a.0);
        base.wrapping_add_signed(tensor.offset.wrapping_mul(tensor.dtype.bytes() as i64))
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        for &(address, _) in &self.addresses {
            // SAFETY: allocated by `upload`, freed once; a failed context leaves nothing to do.
            let _ = unsafe { result::free_sync(address) };
        }
        if self.dump != 0 {
            // SAFETY: allocated by `Device::scratch`, freed once.
            let _ = unsafe { result::free_sync(self.dump) };
        }
        if self.prints != 0 {
            // SAFETY: allocated by `Device::scratch`, freed once.
            let _ = unsafe { result::free_sync(self.prints) };
        }
        if self.scratch != 0 {
            // SAFETY: allocated by `Device::scratch`, freed once.
            let _ = unsafe { result::free_sync(self.scratch) };
        }
        if let Some((first, second, _)) = self.tables {
            // SAFETY: allocated by `watch`, freed once.
            unsafe {
                let _ = result::free_sync(first);
                let _ = result::free_sync(second);
            }
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded by `load`, unloaded once.
        let _ = unsafe { result::module::unload(self.module) };
    }
}
