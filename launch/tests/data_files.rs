//! Data files as NumPy 2 and PyTorch's safetensors wrote them, as we write them, and broken ones.

use tilescope_diagnostics::{Error, ErrorKind, Result};
use tilescope_launch::{DataArray, Dtype, Files, read_data, write_npy, write_safetensors};

struct Data;

impl Files for Data {
    fn read(&self, path: &str, _max_bytes: u64) -> Result<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
        std::fs::read(format!("{folder}{path}")).map_err(|e| Error::input(e.to_string()))
    }
}

struct Held(Vec<u8>);

impl Files for Held {
    fn read(&self, _path: &str, _max_bytes: u64) -> Result<Vec<u8>> {
        Ok(self.0.clone())
    }
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn numpy_files() {
    let read = |path, dtype| read_data(&Data, path, None, dtype).map(|a| (a.shape, a.bytes));
    let counted = f32s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for path in ["f4.npy", "f4_fortran.npy", "f4_v2.npy"] {
        assert_eq!(
            read(path, Dtype::F32),
            Ok((vec![2, 3], counted.clone())),
            "{path}"
        );
    }
    assert_eq!(read("bool.npy", Dtype::I1), Ok((vec![3], vec![1, 0, 1])));
    assert_eq!(
        read("scalar.npy", Dtype::F64),
        Ok((vec![], 2.5f64.to_le_bytes().to_vec()))
    );
    assert_eq!(read("empty.npy", Dtype::I64), Ok((vec![0, 3], vec![])));
    assert_eq!(
        read("bf16.npy", Dtype::BF16),
        Ok((vec![2], vec![0xc0, 0x3f, 0x00, 0xc0]))
    );

    let refused = read("f4_big_endian.npy", Dtype::F32).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Unsupported);
    assert_eq!(
        refused.message,
        "`f4_big_endian.npy`: big-endian data (`>f4`) is not read"
    );
    let refused = read("structured.npy", Dtype::F32).unwrap_err();
    assert_eq!(
        refused.message,
        "`structured.npy`: structured arrays are not read"
    );
    let wrong = read("f4.npy", Dtype::I32).unwrap_err();
    assert_eq!(wrong.message, "`f4.npy`: elements are `<f4`, i32 wants `<i4`");
}

#[test]
fn safetensors_files() {
    let read =
        |key, dtype| read_data(&Data, "torch.safetensors", Some(key), dtype).map(|a| (a.shape, a.bytes));
    assert_eq!(
        read("w", Dtype::F32),
        Ok((vec![2, 3], f32s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])))
    );
    assert_eq!(
        read("h", Dtype::BF16),
        Ok((vec![2], vec![0xc0, 0x3f, 0x00, 0xc0]))
    );
    assert_eq!(read("q", Dtype::F8E4M3), Ok((vec![2], vec![0x3c, 0xc0])));
    let missing = read("v", Dtype::F32).unwrap_err();
    assert_eq!(
        (missing.message.as_str(), missing.notes[0].as_str()),
        ("`torch.safetensors`: no tensor `v`", "it holds: h, q, w")
    );
}

#[test]
fn what_is_written_is_read_back() {
    for dtype in Dtype::ALL {
        for shape in [vec![], vec![5], vec![2, 0], vec![2, 3, 4]] {
            let elements: i64 = shape.iter().product();
            let bytes = (0..elements as usize * dtype.bytes())
                .map(|i| i as u8 % 2)
                .collect();
            let array = DataArray { dtype, shape, bytes };
            let npy = write_npy(&array);
            assert_eq!((npy.len() - array.bytes.len()) % 64, 0);
            assert_eq!(read_data(&Held(npy), "x.npy", None, dtype), Ok(array.clone()));
            let bundle =
                write_safetensors(&[("a".into(), array.clone()), ("b".into(), array.clone())]).unwrap();
            assert_eq!(
                read_data(&Held(bundle), "x.safetensors", Some("b"), dtype),
                Ok(array)
            );
        }
    }
    let short = DataArray {
        dtype: Dtype::F32,
        shape: vec![3],
        bytes: vec![0; 8],
    };
    assert!(write_safetensors(&[("a".into(), short)]).is_err());
}

/// Byte for byte what NumPy writes.
#[test]
fn npy_files_are_numpys() {
    for (path, dtype) in [
        ("f4.npy", Dtype::F32),
        ("scalar.npy", Dtype::F64),
        ("empty.npy", Dtype::I64),
        ("bool.npy", Dtype::I1),
    ] {
        let array = read_data(&Data, path, None, dtype).unwrap();
        assert_eq!(write_npy(&array), Data.read(path, u64::MAX).unwrap(), "{path}");
    }
}

#[test]
fn lying_headers_are_refused() {
    let npy = |head: &str, data: usize| {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((head.len() as u16).to_le_bytes());
        file.extend(head.bytes());
        file.extend(vec![0; data]);
        read_data(&Held(file), "x.npy", None, Dtype::F32)
            .map(|a| a.shape)
            .map_err(|e| e.message)
    };
    let head = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    assert_eq!(npy(&head("(2,)"), 8), Ok(vec![2]));
    for (head, data, message) in [
        (head("(2,)"), 7, "`x.npy`: 7 bytes of data, its shape [2] needs 8"),
        (
            head("(2,)"),
            12,
            "`x.npy`: 12 bytes of data, its shape [2] needs 8",
        ),
        (
            head("(9223372036854775807, 4)"),
            0,
            "`x.npy`: 0 bytes of data, its shape [9223372036854775807, 4] needs more than 2^63",
        ),
        (
            head("(-1,)"),
            0,
            "`x.npy`: not a .npy file: its header is no dictionary of descr, fortran_order, shape",
        ),
        (
            head("(2 3)"),
            0,
            "`x.npy`: not a .npy file: its header is no dictionary of descr, fortran_order, shape",
        ),
        (
            String::new(),
            0,
            "`x.npy`: not a .npy file: its header is no dictionary of descr, fortran_order, shape",
        ),
    ] {
        assert_eq!(npy(&head, data), Err(message.to_string()));
    }
    // A header length of 4 GiB in version 2.
    let huge = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    assert!(read_data(&Held(huge), "x.npy", None, Dtype::F32).is_err());
    let huge = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    assert!(read_data(&Held(huge), "x.safetensors", Some("a"), Dtype::F32).is_err());
}

proptest::proptest! {
    #[test]
    fn no_file_panics(
        which in 0..3usize,
        edits in proptest::collection::vec((0..200usize, 0..=255u8), 1..6),
        cut in 0..200usize,
    ) {
        let (path, key, dtype) = [
            ("f4.npy", None, Dtype::F32),
            ("f4_fortran.npy", None, Dtype::F32),
            ("torch.safetensors", Some("w"), Dtype::F32),
        ][which];
        let mut content = Data.read(path, u64::MAX).unwrap();
        for (at, byte) in edits {
            let at = at % content.len();
            content[at] = byte;
        }
        content.truncate(content.len() - cut.min(content.len()) / 8);
        let _ = read_data(&Held(content), path, key, dtype);
    }
}
