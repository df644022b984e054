//! Compiled kernels on disk, so that the next process need not compile them again.
//!
//! A file per kernel, named by a hash of everything that went into it: the generated code and its header (and with them the IR,
//! the options and the values that were compiled in), the architecture, the compiler's version and this crate's. Files
//! are written beside their place and renamed, so several processes may use one folder at once. What cannot be read or written is as if
//! it were not there.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tilescope_diagnostics::{Error, Result};

use crate::emit::{Generated, HEADER};
use crate::nvrtc::{Image, Resources};

/// First bytes of a file.
const MAGIC: &[u8; 8] = b"tscubin1";

/// A folder of compiled kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which is made when something is stored.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache {
            folder: folder.into(),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, kernel: &Generated, architecture: &str, compiler: (i32, i32)) -> PathBuf {
        let mut hash = Sha256::new();
        for part in [
            env!("CARGO_PKG_VERSION"),
            architecture,
            &format!("{}.{}", compiler.0, compiler.1),
            HEADER,
            &kernel.source,
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.cubin"))
    }

    /// The compiled kernel, if it is there and whole.
    pub fn find(&self, kernel: &Generated, architecture: &str, compiler: (i32, i32)) -> Option<Image> {
        let bytes = std::fs::read(self.file(kernel, architecture, compiler)).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (numbers, rest) = rest.split_at_checked(16)?;
        let number = |i: usize| -> Option<u32> {
            Some(u32::from_le_bytes(
                numbers.get(i * 4..i * 4 + 4)?.try_into().ok()?,
            ))
        };
        let (sum, code) = rest.split_at_checked(32)?;
        (Sha256::digest(code).as_slice() == sum).then_some(Image {
            code: code.to_vec(),
            resources: Resources {
                registers: number(0)?,
                stack: number(1)?,
                spill_stores: number(2)?,
                spill_loads: number(3)?,
            },
        })
    }

    /// Keeps a compiled kernel.
    pub fn store(&self, kernel: &Generated, architecture: &str, compiler: (i32, i32), image: &Image) {
        let file = self.file(kernel, architecture, compiler);
        let Resources {
            registers,
            stack,
            spill_stores,
            spill_loads,
        } = image.resources;
        let mut bytes = MAGIC.to_vec();
        for number in [registers, stack, spill_stores, spill_loads] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(Sha256::digest(&image.code));
        bytes.extend(&image.code);
        let beside = file.with_extension(format!("{}.part", std::process::id()));
        let stored = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&beside, bytes))
            .and_then(|()| std::fs::rename(&beside, &file));
        if stored.is_err() {
            // A cache that cannot be written costs time, nothing else.
            let _ = std::fs::remove_file(&beside);
        }
    }

    /// Removes all compiled kernels; gives how many there were.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn clear(&self) -> Result<usize> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return Ok(0);
        };
        let mut count = 0;
        for path in entries.flatten().map(|entry| entry.path()) {
            if !path
                .extension()
                .is_some_and(|kind| kind == "cubin" || kind == "part")
            {
                continue;
            }
            std::fs::remove_file(&path)
                .map_err(|why| Error::input(format!("cannot remove {}: {why}", path.display())))?;
            count += 1;
        }
        Ok(count)
    }
}
