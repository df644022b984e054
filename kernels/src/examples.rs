//! The table of embedded example launches.
//!
//! A row is a folder, a summary and the variants; the files of variant V of folder F are `F/F.py` and
//! `F/V.launch.toml`. Beside them lies `F/V.ttir`, what Triton compiles, which tests compare with. A test holds the table equal to what is in the folders.

/// One embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Name relative to the launch file's folder, as the launch file and locations spell it.
    pub name: &'static str,
    /// Its whole content.
    pub text: &'static str,
}

/// One example launch: a kernel with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// The name accepted wherever a launch file is, for example `softmax-f16`.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// The launch file.
    pub launch: File,
    /// The kernel's Python source; the launch file names it.
    pub source: File,
}

impl Example {
    /// The content of the file of that name, if it belongs to this example.
    pub fn file(&self, name: &str) -> Option<&'static str> {
        [self.launch, self.source]
            .into_iter()
            .find(|file| file.name == name)
            .map(|file| file.text)
    }
}

/// The example of that name, if there is one.
pub fn example(name: &str) -> Option<&'static Example> {
    KERNELS.iter().find(|example| example.name == name)
}

macro_rules! embedded {
    ($folder:literal, $name:expr) => {
        File {
            name: $name,
            text: include_str!(concat!("../", $folder, "/", $name)),
        }
    };
}

macro_rules! examples {
    ($($folder:literal { $($name:literal: $summary:literal,)+ })+) => {
        /// Every example launch, by kernel and then by variant.
        pub static KERNELS: &[Example] = &[$($(
            Example {
                name: $name,
                summary: $summary,
                launch: embedded!($folder, concat!($name, ".launch.toml")),
                source: embedded!($folder, concat!($folder, ".py")),
            },
        )+)+];
    };
}

examples! {
    "vector_add" {
        "vector_add": "sum of two vectors of 98435 elements, f32",
        "vector_add-f16": "sum of two vectors of 98435 elements, f16",
        "vector_add-bf16": "sum of two vectors of 98435 elements, bf16",
    }
    "softmax" {
        "softmax": "softmax of 1823 rows of 781, a row per block, f32",
        "softmax-f16": "softmax of 1823 rows of 781, a row per block, f16",
        "softmax-bf16": "softmax of 1823 rows of 781, a row per block, bf16",
    }
    "softmax_looped" {
        "softmax_looped": "online softmax of 127 rows of 5003 in blocks, f32",
        "softmax_looped-f16": "online softmax of 127 rows of 5003 in blocks, f16",
        "softmax_looped-bf16": "online softmax of 127 rows of 5003 in blocks, bf16",
    }
    "layer_norm" {
        "layer_norm": "layer normalisation of 1000 rows of 777, f32",
        "layer_norm-f16": "layer normalisation of 1000 rows of 777, f16",
        "layer_norm-bf16": "layer normalisation of 1000 rows of 777, bf16",
    }
    "rms_norm" {
        "rms_norm": "root-mean-square normalisation of 1000 rows of 777, f32",
        "rms_norm-f16": "root-mean-square normalisation of 1000 rows of 777, f16",
        "rms_norm-bf16": "root-mean-square normalisation of 1000 rows of 777, bf16",
    }
    "bias_gelu" {
        "bias_gelu": "bias, exact GELU and scale on 127x1003, f32",
        "bias_gelu-f16": "bias, exact GELU and scale on 127x1003, f16",
        "bias_gelu-bf16": "bias, exact GELU and scale on 127x1003, bf16",
        "bias_gelu-tanh": "bias, GELU by tanh and scale on 127x1003, f32",
        "bias_gelu-tanh-f16": "bias, GELU by tanh and scale on 127x1003, f16",
        "bias_gelu-tanh-bf16": "bias, GELU by tanh and scale on 127x1003, bf16",
    }
    "matmul" {
        "matmul": "matrix product 391x123 by 123x270, f32 with full-precision inputs",
        "matmul-tf32": "matrix product 391x123 by 123x270, f32 with inputs cut to TF32",
        "matmul-f16": "matrix product 391x123 by 123x270, f16",
        "matmul-bf16": "matrix product 391x123 by 123x270, bf16",
    }
    "flash_attention" {
        "flash_attention": "causal attention, 2x3 heads of 197x64, f32",
        "flash_attention-f16": "causal attention, 2x3 heads of 197x64, f16",
        "flash_attention-bf16": "causal attention, 2x3 heads of 197x64, bf16",
    }
    "cross_entropy" {
        "cross_entropy": "cross entropy of 127 rows of 5003 classes, f32",
        "cross_entropy-f16": "cross entropy of 127 rows of 5003 classes, f16",
        "cross_entropy-bf16": "cross entropy of 127 rows of 5003 classes, bf16",
    }
    "cumsum" {
        "cumsum": "cumulative sum along 127 rows of 2777, f32",
        "cumsum-f16": "cumulative sum along 127 rows of 2777, f16",
        "cumsum-bf16": "cumulative sum along 127 rows of 2777, bf16",
    }
    "histogram" {
        "histogram": "counts of 98435 integers in 100 bins, by atomics",
    }
    "dropout" {
        "dropout": "dropout of 98435 elements by Philox, f32",
        "dropout-f16": "dropout of 98435 elements by Philox, f16",
        "dropout-bf16": "dropout of 98435 elements by Philox, bf16",
    }
    "transpose" {
        "transpose": "transpose of 1000x777, f32",
        "transpose-f16": "transpose of 1000x777, f16",
        "transpose-bf16": "transpose of 1000x777, bf16",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    #[test]
    fn table_holds_every_launch_file_of_the_folders() {
        let folders = fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("the crate's folder");
        let mut on_disk = BTreeSet::new();
        for folder in folders
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir())
        {
            for entry in fs::read_dir(folder).expect("a readable folder") {
                let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
                on_disk.extend(name.strip_suffix(".launch.toml").map(str::to_owned));
            }
        }
        let in_table: Vec<String> = KERNELS.iter().map(|example| example.name.to_owned()).collect();
        assert_eq!(in_table.len(), KERNELS.len());
        assert_eq!(BTreeSet::from_iter(in_table), on_disk);
    }

    #[test]
    fn names_agree_inside_each_example() {
        for example in KERNELS {
            let folder = example.source.name.trim_end_matches(".py");
            let kernel = format!("kernel = \"{folder}.py::{folder}_kernel\"");
            let text = example.launch.text.replace("kernel   =", "kernel =");
            assert!(
                text.starts_with(&kernel),
                "{} does not start with {kernel}",
                example.launch.name
            );
            let ttir = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{folder}/{}.ttir", example.name));
            let ttir = fs::read_to_string(ttir).expect("the example's TTIR");
            let location = format!("loc(\"{}\":", example.source.name);
            assert!(ttir.contains(&location), "{} has no {location}", example.name);
            assert!(!ttir.contains("loc(\"/"), "{} has an absolute path", example.name);
            assert_eq!(example.file(example.source.name), Some(example.source.text));
        }
    }

    #[test]
    fn every_reference_named_exists() {
        for example in KERNELS {
            let parts = example.launch.text.split("reference = \"").skip(1);
            for name in parts.filter_map(|rest| rest.split('"').next()) {
                assert!(
                    crate::reference(name).is_some(),
                    "{}: no reference {name}",
                    example.name
                );
            }
        }
    }
}
