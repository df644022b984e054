//! What operators and methods of tiles compute, against plain Rust.

use ndarray::{Array1, Array2};
use tilescope::{
    Builder, Dtype, Element, F16, F32, F64, I1, I8, I16, I32, I64, Kernel, Operand, Tile, U8, U32, U64, bf16,
    check, f16, out,
};

const N: usize = 16;

/// What `f` makes of 16 numbers.
fn of<A: Element, B: Element>(
    x: [A; N],
    f: impl for<'k> FnOnce(&'k Builder, Tile<'k>) -> Tile<'k>,
) -> Vec<B> {
    let kernel = Kernel::new("k", |k| {
        let (x_ptr, y_ptr) = (k.ptr::<A>("x_ptr"), k.ptr::<B>("y_ptr"));
        let lanes = k.arange(0, N as i32);
        let y = f(k, k.load(x_ptr + lanes, None, None));
        assert_eq!(y.ty().and_then(|ty| ty.dtype()), Some(B::DTYPE), "{y:?}");
        k.store(y_ptr + lanes, y, None);
    });
    let mut y = vec![B::from_bytes(&[]); N];
    check(&kernel, 1, (&x[..], out(&mut y))).unwrap();
    y
}

fn floats() -> [f32; N] {
    std::array::from_fn(|i| i as f32 * 0.75 - 5.0)
}

fn integers() -> [i32; N] {
    std::array::from_fn(|i| i as i32 * 7 - 50)
}

fn each<A: Copy, B>(x: [A; N], f: impl Fn(A) -> B) -> Vec<B> {
    x.map(f).into_iter().collect()
}

#[test]
fn numbers_stand_on_either_side() {
    assert_eq!(
        of::<_, f32>(floats(), |_, x| (2.0 * x + 1).abs()),
        each(floats(), |x| (2.0 * x + 1.0).abs())
    );
    assert_eq!(
        of::<_, f32>(floats(), |_, x| 1 - x / 4),
        each(floats(), |x| 1.0 - x / 4.0)
    );
    assert_eq!(
        of::<_, i32>(integers(), |_, x| 100 - x * 3),
        each(integers(), |x| 100 - x * 3)
    );
    assert_eq!(
        of::<_, i32>(integers(), |_, x| x / 4 + x % 4),
        each(integers(), |x| x / 4 + x % 4)
    );
    assert_eq!(
        of::<_, f32>(integers(), |_, x| x * 0.5),
        each(integers(), |x| x as f32 * 0.5)
    );
    let factor = 3usize;
    assert_eq!(
        of::<_, f32>(floats(), |_, x| x * factor),
        each(floats(), |x| x * 3.0)
    );
}

#[test]
fn operators_assign() {
    let twice = of::<_, i32>(integers(), |_, mut x| {
        x += 1;
        x *= 2;
        x -= 3;
        x
    });
    assert_eq!(twice, each(integers(), |x| (x + 1) * 2 - 3));
}

#[test]
fn bits_are_those_of_rust() {
    let x = integers();
    assert_eq!(
        of::<_, i32>(x, |_, x| (x & 12) | (x ^ 5)),
        each(x, |x| (x & 12) | (x ^ 5))
    );
    assert_eq!(
        of::<_, i32>(x, |_, x| (x << 3) + (x >> 1)),
        each(x, |x| (x << 3) + (x >> 1))
    );
    assert_eq!(of::<_, i32>(x, |_, x| !x), each(x, |x| !x));
    assert_eq!(of::<_, i32>(x, |_, x| -x), each(x, |x| -x));
    let unsigned = x.map(|x| x as u32);
    assert_eq!(
        of::<_, u32>(unsigned, |_, x| (x >> 1) / 3),
        each(unsigned, |x| (x >> 1) / 3)
    );
}

#[test]
fn comparisons_choose() {
    let x = floats();
    let chosen = of::<_, f32>(x, |k, x| k.where_(x.lt(0) | x.ge(4.0), x, 0.5));
    assert_eq!(
        chosen,
        each(x, |x| if !(0.0..4.0).contains(&x) { x } else { 0.5 })
    );
    assert_eq!(
        of::<_, f32>(x, |_, x| x.clamp(-1, 2.5)),
        each(x, |x| x.clamp(-1.0, 2.5))
    );
    assert_eq!(
        of::<_, bool>(integers(), |_, x| !x.eq(-1)),
        each(integers(), |x| x != -1)
    );
    assert_eq!(
        of::<_, bool>(integers(), |_, x| x.ne(-1) & x.le(6) & x.gt(-20)),
        each(integers(), |x| x != -1 && x <= 6 && x > -20)
    );
}

#[test]
fn conversions_are_those_of_the_language() {
    let x = floats();
    assert_eq!(of::<_, i32>(x, |_, x| x.to(I32)), each(x, |x| x as i32));
    assert_eq!(of::<_, f16>(x, |_, x| x.cast::<f16>()), each(x, f16::from_f32));
    assert_eq!(of::<_, f64>(x, |_, x| x.to(F64)), each(x, f64::from));
    assert_eq!(
        of::<_, f16>(x, |_, x| x.cast::<bf16>().cast::<f16>()),
        each(x, |x| f16::from_f32(bf16::from_f32(x).to_f32()))
    );
    assert_eq!(
        of::<_, i8>(integers(), |_, x| x.to(I8)),
        each(integers(), |x| x as i8)
    );
    assert_eq!(
        of::<_, u8>(integers(), |_, x| x.to(U8)),
        each(integers(), |x| x as u8)
    );
    assert_eq!(
        of::<_, i64>(integers(), |_, x| x.to(I64)),
        each(integers(), i64::from)
    );
    assert_eq!(
        of::<_, u64>(integers().map(|x| x as u32), |_, x| x.to(U64)),
        each(integers(), |x| u64::from(x as u32))
    );
    assert_eq!(
        of::<_, bool>(integers(), |_, x| (x - 6).to(I1)),
        each(integers(), |x| x != 6)
    );
    assert_eq!(of::<_, u32>(x, |_, x| x.bitcast(U32)), each(x, f32::to_bits));
    assert_eq!(
        of::<_, f32>(integers(), |_, x| x.lt(0).to(F32)),
        each(integers(), |x| f32::from(u8::from(x < 0)))
    );
}

#[test]
fn halves_stay_halves() {
    let x = floats().map(f16::from_f32);
    let y: Vec<f16> = of(x, |_, x| x * 0.1);
    assert_eq!(y, each(x, |x| x * f16::from_f32(0.1)));
    // Division is done in f32, as in Triton.
    let y: Vec<f32> = of(x, |_, x| x / 3);
    assert_eq!(y, each(x, |x| x.to_f32() / 3.0));
}

#[test]
fn functions_are_near_those_of_rust() {
    type Pair = (&'static str, for<'k> fn(Tile<'k>) -> Tile<'k>, fn(f64) -> f64);
    let table: [Pair; 14] = [
        ("exp", |x| x.exp(), f64::exp),
        ("exp2", |x| x.exp2(), f64::exp2),
        ("exp_m1", |x| x.exp_m1(), f64::exp_m1),
        ("ln", |x| x.abs().ln(), |x| x.abs().ln()),
        ("log2", |x| x.abs().log2(), |x| x.abs().log2()),
        ("log10", |x| x.abs().log10(), |x| x.abs().log10()),
        ("sqrt", |x| x.abs().sqrt(), |x| x.abs().sqrt()),
        ("rsqrt", |x| x.abs().rsqrt(), |x| x.abs().sqrt().recip()),
        ("sin", |x| x.sin(), f64::sin),
        ("tanh", |x| x.tanh(), f64::tanh),
        ("floor", |x| x.floor(), f64::floor),
        ("ceil", |x| x.ceil(), f64::ceil),
        ("sigmoid", |x| x.sigmoid(), |x| 1.0 / (1.0 + (-x).exp())),
        ("pow", |x| x.abs().pow(1.5), |x| x.abs().powf(1.5)),
    ];
    let x: [f64; N] = floats().map(|x| f64::from(x) + 0.1);
    for (name, ours, rust) in table {
        let y: Vec<f64> = of(x, |_, x| ours(x));
        for (y, x) in y.iter().zip(x) {
            assert!(
                (y - rust(x)).abs() <= 1e-14 * rust(x).abs().max(1.0),
                "{name}({x}) = {y}, not {}",
                rust(x)
            );
        }
    }
    for y in of::<f32, f32>(floats(), |_, x| {
        x.tan() - x.sin() / x.cos() + x.trunc() - x.to(I32)
    }) {
        assert!(y.abs() < 1e-5, "{y}");
    }
    let y: Vec<f32> = of(floats(), |_, x| {
        (x * 2).round_ties_even() + (x - x.atan().tan()).round_ties_even().erf()
    });
    assert_eq!(y, each(floats(), |x| (x * 2.0).round_ties_even()));
    let y: Vec<f32> = of(floats(), |_, x| x.abs().ln_1p().exp_m1());
    assert!(
        y.iter().zip(floats()).all(|(y, x)| (y - x.abs()).abs() < 1e-5),
        "{y:?}"
    );
    let y: Vec<f32> = of(floats(), |_, x| x.mul_add(2, x));
    assert_eq!(y, each(floats(), |x| x.mul_add(2.0, x)));
}

/// What a kernel writes to one output of `n` numbers.
fn written<T: Element>(n: usize, body: impl for<'k> FnOnce(&'k Builder, Tile<'k>)) -> Vec<T> {
    let kernel = Kernel::new("k", |k| body(k, k.ptr::<T>("out_ptr")));
    let mut y = vec![T::from_bytes(&[]); n];
    check(&kernel, 1, (out(&mut y),)).unwrap();
    y
}

/// Writes a tile of any shape in row-major order.
fn write<'k>(k: &'k Builder, to: Tile<'k>, value: Tile<'k>, n: i32) {
    k.store(to + k.arange(0, n), value.flatten(), None);
}

#[test]
fn shapes_broadcast_and_change() {
    let table = written::<i32>(32, |k, to| {
        let sum = 10 * k.arange(0, 4).col() + k.arange(0, 8);
        write(k, to, sum, 32);
    });
    assert_eq!(
        table,
        (0..4)
            .flat_map(|i| (0..8).map(move |j| 10 * i + j))
            .collect::<Vec<_>>()
    );
    let turned = written::<i32>(32, |k, to| {
        write(k, to, k.arange(0, 32).reshape([4, 8]).trans(), 32)
    });
    assert_eq!(
        turned,
        (0..8)
            .flat_map(|j| (0..4).map(move |i| 8 * i + j))
            .collect::<Vec<_>>()
    );
    let turned = written::<i32>(8, |k, to| {
        write(k, to, k.arange(0, 8).reshape([2, 2, 2]).permute([-1, 0, 1]), 8)
    });
    assert_eq!(turned, [0, 2, 4, 6, 1, 3, 5, 7]);
    let repeated = written::<i32>(8, |k, to| write(k, to, k.arange(0, 2).broadcast_to([4, 2]), 8));
    assert_eq!(repeated, [0, 1, 0, 1, 0, 1, 0, 1]);
    let joined = written::<i32>(8, |k, to| {
        let x = k.arange(0, 4);
        let (a, b) = x.join(-x).split();
        write(k, to, b.join(a), 8);
    });
    assert_eq!(joined, [0, 0, -1, 1, -2, 2, -3, 3]);
    let gathered = written::<i32>(4, |k, to| {
        let x = k.arange(0, 4) * 5;
        write(k, to, x.gather(3 - k.arange(0, 4), 0), 4);
    });
    assert_eq!(gathered, [15, 10, 5, 0]);
}

#[test]
fn reductions_and_scans() {
    let x = integers();
    fn all(one: Tile<'_>) -> Tile<'_> {
        one.broadcast_to([N as i32])
    }
    assert_eq!(of::<_, i32>(x, |_, x| all(x.sum(0)))[0], x.iter().sum::<i32>());
    assert_eq!(of::<_, i32>(x, |_, x| all(x.max(-1)))[3], 55);
    assert_eq!(of::<_, i32>(x, |_, x| all(x.min(0)))[3], -50);
    assert_eq!(of::<_, i32>(x, |_, x| all((x * x).argmin(0)))[0], 7);
    assert_eq!(of::<_, i32>(x, |_, x| all((x / 40).argmax(0)))[0], 13);
    let mut total = 0;
    let sums = each(x, |x| x).into_iter().map(|x| {
        total += x;
        total
    });
    assert_eq!(of::<_, i32>(x, |_, x| x.cumsum(0)), sums.collect::<Vec<_>>());
    assert_eq!(of::<i8, i32>([100; N], |_, x| x.cumsum(0))[15], 1600);
    let rows = written::<i32>(4, |k, to| {
        write(
            k,
            to,
            k.arange(0, 32).reshape([4, 8]).argmax(1) + k.arange(0, 4),
            4,
        )
    });
    assert_eq!(rows, [7, 8, 9, 10]);
    let product = written::<f32>(1, |k, to| {
        let x = k.arange(1, 9).to(F32);
        let (product, least) = k.reduce((x, x), 0, |(a, x), (b, y)| (a * b, x.minimum(y)));
        k.store(to, product + least, None);
    });
    assert_eq!(product, [40321.0]);
}

#[test]
fn loops_carry_and_branches_give() {
    let fibonacci = written::<i64>(1, |k, to| {
        let start = (k.constant(0i64), k.constant(1i64));
        let (a, _) = k.for_range(0, 10, 1, start, |_, (a, b)| (b, a + b));
        k.store(to, a, None);
    });
    assert_eq!(fibonacci, [55]);
    let sum = written::<i32>(1, |k, to| {
        let [sum] = k.for_range(3, 10, 2, [k.constant(0)], |i, [sum]| [sum + i]);
        k.store(to, sum, None);
    });
    assert_eq!(sum, [3 + 5 + 7 + 9]);
    let collatz = written::<i32>(1, |k, to| {
        let start = (k.constant(27), k.constant(0));
        let (_, steps) = k.while_(
            start,
            |(n, _)| n.ne(1),
            |(n, steps)| (k.if_else((n % 2).eq(0), || n / 2, || 3 * n + 1), steps + 1),
        );
        k.store(to, steps, None);
    });
    assert_eq!(collatz, [111]);
    let kernel = Kernel::new("k", |k| {
        let to = k.ptr::<i32>("to");
        let pid = k.program_id(0);
        k.if_((pid % 2).eq(1), || {
            k.store(to + pid, pid + k.num_programs(0), None)
        });
    });
    let mut y = vec![0; 4];
    check(&kernel, 4, (&mut y,)).unwrap();
    assert_eq!(y, [0, 5, 0, 7]);
}

#[test]
fn a_struct_of_tiles_is_carried() {
    #[derive(Clone, Copy)]
    struct Online<'k> {
        max: Tile<'k>,
        sum: Tile<'k>,
    }
    impl<'k> tilescope::Carried<'k> for Online<'k> {
        fn tiles(&self, to: &mut Vec<Tile<'k>>) {
            to.extend([self.max, self.sum]);
        }
        fn with_tiles(&self, from: &mut dyn Iterator<Item = Tile<'k>>) -> Self {
            Online {
                max: self.max.with_tiles(from),
                sum: self.sum.with_tiles(from),
            }
        }
    }
    let y = written::<f32>(1, |k, to| {
        let start = Online {
            max: k.constant(f32::NEG_INFINITY),
            sum: k.constant(0f32),
        };
        let end = k.for_range(0, 4, 1, start, |i, state| {
            let x = i.to(F32);
            let max = state.max.maximum(x);
            Online {
                max,
                sum: state.sum * (state.max - max).exp() + (x - max).exp(),
            }
        });
        k.store(to, end.max + end.sum.ln(), None);
    });
    let expected = (0..4).map(|i| f64::from(i).exp()).sum::<f64>().ln();
    assert!((f64::from(y[0]) - expected).abs() < 1e-6);
}

#[test]
fn products_accumulate() {
    let (a, b) = (
        Array2::from_shape_fn((16, 32), |(i, j)| (i * 3 + j) as f32 % 7.0),
        Array2::from_shape_fn((32, 16), |(i, j)| (i + j * 5) as f32 % 5.0),
    );
    let kernel = Kernel::new("product", |k| {
        let [a_ptr, b_ptr, c_ptr] = ["a", "b", "c"].map(|name| k.ptr::<f32>(name));
        let (m, n, depth) = (k.arange(0, 16), k.arange(0, 16), k.arange(0, 32));
        let a = k.load(a_ptr + m.col() * 32 + depth.row(), None, None);
        let b = k.load(b_ptr + depth.col() * 16 + n.row(), None, None);
        let c = k.dot(a, b, k.zeros([16, 16], F32));
        let halves = k.dot(a.to(F16), b.to(F16), k.zeros([16, 16], F16));
        k.store(c_ptr + m.col() * 16 + n.row(), c + (c - halves), None);
    });
    let mut c = Array2::<f32>::zeros((16, 16));
    check(&kernel, 1, (&a, &b, out(&mut c))).unwrap();
    assert_eq!(c, a.dot(&b));
}

#[test]
fn atomics_add_up() {
    let kernel = Kernel::new("count", |k| {
        let [counts, largest] = ["counts", "largest"].map(|name| k.ptr::<i32>(name));
        let x = k.load(k.ptr::<i32>("x") + k.arange(0, 16), None, None);
        k.atomic_add(counts + x % 4, 1, x.ge(0));
        k.atomic_max(largest, x.max(0), None);
        k.atomic_cas(largest + 1, 7, k.program_id(0));
    });
    let (mut counts, mut largest) = (vec![0; 4], vec![-1, 7]);
    let x: Vec<i32> = (-8..8).collect();
    check(&kernel, 1, (&mut counts, &mut largest, &x)).unwrap();
    assert_eq!((counts, largest), (vec![2; 4], vec![7, 0]));
}

#[test]
fn pointers_move_by_elements() {
    let kernel = Kernel::new("reverse", |k| {
        let (x, y) = (k.ptr::<f64>("x"), k.ptr::<f64>("y"));
        let lanes = k.arange(0, 8);
        k.store(7 + y - lanes, k.load(x + lanes.to(U8), None, None), None);
    });
    let x = Array1::from_iter((0..8).map(f64::from));
    let mut y = Array1::<f64>::zeros(8);
    check(&kernel, 1, (&x, out(&mut y))).unwrap();
    assert_eq!(y, Array1::from_iter((0..8).rev().map(f64::from)));
}

#[test]
fn every_type_is_loaded_and_stored() {
    fn copy<T: Element + PartialEq + std::fmt::Debug>(x: [T; N]) {
        assert_eq!(of::<T, T>(x, |_, x| x), x.into_iter().collect::<Vec<_>>());
    }
    copy::<bool>(std::array::from_fn(|i| i % 3 == 0));
    copy::<i8>(std::array::from_fn(|i| i as i8 - 8));
    copy::<i16>(std::array::from_fn(|i| i as i16 - 8));
    copy::<i64>(std::array::from_fn(|i| i as i64 - 8));
    copy::<u8>(std::array::from_fn(|i| 255 - i as u8));
    copy::<u16>(std::array::from_fn(|i| 65535 - i as u16));
    copy::<u64>(std::array::from_fn(|i| u64::MAX - i as u64));
    copy::<f16>(std::array::from_fn(|i| f16::from_f32(i as f32)));
    copy::<bf16>(std::array::from_fn(|i| bf16::from_f32(i as f32)));
}

#[test]
fn every_type_of_scalar_is_passed() {
    fn pass<T>(value: T) -> Vec<T>
    where
        T: Element + for<'a> Into<tilescope::Arg<'a>>,
    {
        let kernel = Kernel::new("k", |k| {
            let (to, value) = (k.ptr::<T>("to"), k.scalar::<T>("value"));
            k.store(to, value, None);
        });
        let mut y = vec![T::from_bytes(&[])];
        check(&kernel, 1, (out(&mut y), value)).unwrap();
        y
    }
    assert_eq!(pass(true), [true]);
    assert_eq!(pass(-3i8), [-3]);
    assert_eq!(pass(i64::MIN), [i64::MIN]);
    assert_eq!(pass(u64::MAX), [u64::MAX]);
    assert_eq!(pass(f16::from_f32(0.1)), [f16::from_f32(0.1)]);
    assert_eq!(pass(0.1f32), [0.1]);
    assert_eq!(pass(0.1f64), [0.1]);
    assert_eq!(pass(f64::INFINITY), [f64::INFINITY]);
    assert!(pass(f32::NAN)[0].is_nan());
    assert_eq!(pass(-0.0f32)[0].to_bits(), (-0.0f32).to_bits());
    assert_eq!(pass(f64::MIN_POSITIVE), [f64::MIN_POSITIVE]);
}

#[test]
fn operands_may_be_references_and_generic() {
    fn scaled<'k>(x: &Tile<'k>, factor: impl Operand<'k>) -> Tile<'k> {
        x * factor
    }
    let y: Vec<f32> = of(floats(), |_, x| scaled(&x, x) + scaled(&x, 2u64));
    assert_eq!(y, each(floats(), |x| x * x + x * 2.0));
    let dtype: Dtype = I16;
    let y: Vec<i16> = of(integers(), |_, x| x.to(dtype));
    assert_eq!(y, each(integers(), |x| x as i16));
}

#[test]
fn eight_bit_floats_are_given_as_bytes() {
    use tilescope::F8E4M3;
    let kernel = Kernel::new("halve", |k| {
        let p = k.ptr_to("p", F8E4M3) + k.arange(0, 2);
        k.store(p, k.load(p, None, None).to(F32) * 0.5, None);
    });
    // 1.0 and -448, the least.
    let mut bytes = vec![0x38u8, 0xfe];
    check(&kernel, 1, (&mut bytes,)).unwrap();
    assert_eq!(bytes, [0x30, 0xf6]);
}

#[test]
fn views_keep_their_layout() {
    use ndarray::s;
    let kernel = Kernel::new("copy", |k| {
        let (x, y) = (k.ptr::<i32>("x"), k.ptr::<i32>("y"));
        let [row, col] = ["row", "col"].map(|name| k.scalar::<i64>(name));
        let (i, j) = (k.arange(0, 4).col(), k.arange(0, 2).row());
        k.store(y + i * 2 + j, k.load(x + i * row + j * col, None, None), None);
    });
    let whole = Array2::from_shape_fn((8, 8), |(i, j)| (10 * i + j) as i32);
    for view in [
        whole.slice(s![2..6, 3..5]),
        whole.slice(s![..;2, ..;4]),
        whole.slice(s![2..6;-1, 1..3]),
        whole.slice(s![2..4, 1..5]).reversed_axes(),
    ] {
        let mut y = Array2::<i32>::zeros((4, 2));
        let (row, col) = (view.strides()[0] as i64, view.strides()[1] as i64);
        check(&kernel, 1, (view, out(&mut y), row, col)).unwrap();
        assert_eq!(y, view);
    }
    // What lies between the rows of a view is not part of it.
    let mut y = Array2::<i32>::zeros((4, 2));
    let failure = check(&kernel, 1, (whole.slice(s![2..6, 3..5]), out(&mut y), 8, 2)).unwrap_err();
    assert!(failure.to_string().contains("outside"), "{failure}");
}

#[test]
fn random_numbers_are_tritons() {
    // Measured on a GPU with Triton 3.9: `tl.rand(seed, offset)` for offsets 0 to 3, as bits.
    let golden: [(u32, [u32; 4]); 2] = [
        (0, [0x3f4c_4fd1, 0x3d63_666a, 0x3d1f_5464, 0x3ed9_bc42]),
        (42, [0x3f46_2a1e, 0x3cc9_37b5, 0x3eb2_4ff6, 0x3f0a_71f6]),
    ];
    for (seed, bits) in golden {
        let y = written::<f32>(4, |k, to| write(k, to, k.rand(seed, k.arange(0, 4)), 4));
        assert_eq!(y.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits);
    }
    let y = written::<f32>(4096, |k, to| {
        write(k, to, k.randn(7, k.arange(0, 4096).to(I64)), 4096)
    });
    let mean = y.iter().sum::<f32>() / 4096.0;
    let square = y.iter().map(|x| x * x).sum::<f32>() / 4096.0;
    assert!(mean.abs() < 0.06 && (square - 1.0).abs() < 0.1, "{mean} {square}");
}
