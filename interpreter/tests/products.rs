//! Products of matrices, block by block along k, give the bits and findings of the same operations one after the other:
//! for every number that a float can be, sizes that fill no block, and on every level of vector instructions.

use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::{Error, Result, Source};
use tilescope_interpreter::simd::{Cpu, CpuLevel};
use tilescope_interpreter::{Control, Lowering, Options, Prepared};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{Files, LaunchFile, Memory, Overrides, Signature};

/// No file is read.
struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &str, _: u64) -> Result<Vec<u8>> {
        Err(Error::input(path.to_string()))
    }
}

/// c = a · b, a program for each block of c. `ROW` and `COLUMN` make the rows of a and columns of b from `%om` and
/// `%on`; the loop goes along k and does `STEP` with the blocks `%a` and `%b` and the sum `%acc`, which gives `%next`.
const KERNEL: &str = "module {
tt.func public @k(%ap: !tt.ptr<DT>, %bp: !tt.ptr<DT>, %cp: !tt.ptr<CT>, %M: i32, %N: i32, %K: i32,
                  %sbk: i32, %sbn: i32) {
  %zero = arith.constant dense<0.000000e+00> : tensor<BMxBNxCT>
  %oa = arith.constant dense<OTHER> : tensor<BMxBKxDT>
  %ob = arith.constant dense<OTHER> : tensor<BKxBNxDT>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %cbm = arith.constant BM : i32
  %cbn = arith.constant BN : i32
  %cbk = arith.constant BK : i32
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %fm = arith.muli %x, %cbm : i32
  %fn = arith.muli %y, %cbn : i32
  %rm0 = tt.make_range {end = BM : i32, start = 0 : i32} : tensor<BMxi32>
  %rn0 = tt.make_range {end = BN : i32, start = 0 : i32} : tensor<BNxi32>
  %rk = tt.make_range {end = BK : i32, start = 0 : i32} : tensor<BKxi32>
  %fms = tt.splat %fm : i32 -> tensor<BMxi32>
  %fns = tt.splat %fn : i32 -> tensor<BNxi32>
  %om = arith.addi %fms, %rm0 : tensor<BMxi32>
  %on = arith.addi %fns, %rn0 : tensor<BNxi32>
  %Ms = tt.splat %M : i32 -> tensor<BMxi32>
  %Ns = tt.splat %N : i32 -> tensor<BNxi32>
  %rm = arith.remsi %om, %Ms : tensor<BMxi32>
  %rn = arith.remsi %on, %Ns : tensor<BNxi32>
  %am = tt.expand_dims ROW {axis = 1 : i32} : tensor<BMxi32> -> tensor<BMx1xi32>
  %bn = tt.expand_dims COLUMN {axis = 0 : i32} : tensor<BNxi32> -> tensor<1xBNxi32>
  %ak = tt.expand_dims %rk {axis = 0 : i32} : tensor<BKxi32> -> tensor<1xBKxi32>
  %bk = tt.expand_dims %rk {axis = 1 : i32} : tensor<BKxi32> -> tensor<BKx1xi32>
  %Ka = tt.splat %K : i32 -> tensor<BMx1xi32>
  %am1 = arith.muli %am, %Ka : tensor<BMx1xi32>
  %aps = tt.splat %ap : !tt.ptr<DT> -> tensor<BMx1x!tt.ptr<DT>>
  %ap1 = tt.addptr %aps, %am1 : tensor<BMx1x!tt.ptr<DT>>, tensor<BMx1xi32>
  %ap2 = tt.broadcast %ap1 : tensor<BMx1x!tt.ptr<DT>> -> tensor<BMxBKx!tt.ptr<DT>>
  %ak2 = tt.broadcast %ak : tensor<1xBKxi32> -> tensor<BMxBKxi32>
  %apt = tt.addptr %ap2, %ak2 : tensor<BMxBKx!tt.ptr<DT>>, tensor<BMxBKxi32>
  %sk = tt.splat %sbk : i32 -> tensor<BKx1xi32>
  %bk1 = arith.muli %bk, %sk : tensor<BKx1xi32>
  %sn = tt.splat %sbn : i32 -> tensor<1xBNxi32>
  %bn1 = arith.muli %bn, %sn : tensor<1xBNxi32>
  %bps = tt.splat %bp : !tt.ptr<DT> -> tensor<BKx1x!tt.ptr<DT>>
  %bp1 = tt.addptr %bps, %bk1 : tensor<BKx1x!tt.ptr<DT>>, tensor<BKx1xi32>
  %bp2 = tt.broadcast %bp1 : tensor<BKx1x!tt.ptr<DT>> -> tensor<BKxBNx!tt.ptr<DT>>
  %bn2 = tt.broadcast %bn1 : tensor<1xBNxi32> -> tensor<BKxBNxi32>
  %bpt = tt.addptr %bp2, %bn2 : tensor<BKxBNx!tt.ptr<DT>>, tensor<BKxBNxi32>
  %K1 = arith.addi %K, %cbk : i32
  %K2 = arith.subi %K1, %c1 : i32
  %rounds = arith.divsi %K2, %cbk : i32
  %bstep = arith.muli %sbk, %cbk : i32
  %Mc = tt.splat %M : i32 -> tensor<BMx1xi32>
  %Nc = tt.splat %N : i32 -> tensor<1xBNxi32>
  %omc = tt.expand_dims %om {axis = 1 : i32} : tensor<BMxi32> -> tensor<BMx1xi32>
  %onc = tt.expand_dims %on {axis = 0 : i32} : tensor<BNxi32> -> tensor<1xBNxi32>
  %livem = arith.cmpi slt, %omc, %Mc : tensor<BMx1xi32>
  %liven = arith.cmpi slt, %onc, %Nc : tensor<1xBNxi32>
  %all:3 = scf.for %k = %c0 to %rounds step %c1 iter_args(%at = %apt, %bt = %bpt, %acc = %zero) -> (tensor<BMxBKx!tt.ptr<DT>>, tensor<BKxBNx!tt.ptr<DT>>, tensor<BMxBNxCT>)  : i32 {
    %done = arith.muli %k, %cbk : i32
    %left = arith.subi %K, %done : i32
    %lefta = tt.splat %left : i32 -> tensor<1xBKxi32>
    %la = arith.cmpi slt, %ak, %lefta : tensor<1xBKxi32>
    %la2 = tt.broadcast %la : tensor<1xBKxi1> -> tensor<BMxBKxi1>
    %leftb = tt.splat %left : i32 -> tensor<BKx1xi32>
    %lb = arith.cmpi slt, %bk, %leftb : tensor<BKx1xi32>
    %lb2 = tt.broadcast %lb : tensor<BKx1xi1> -> tensor<BKxBNxi1>
    %lm2 = tt.broadcast %livem : tensor<BMx1xi1> -> tensor<BMxBKxi1>
    %ln2 = tt.broadcast %liven : tensor<1xBNxi1> -> tensor<BKxBNxi1>
    %la3 = arith.andi %la2, %lm2 : tensor<BMxBKxi1>
    %lb3 = arith.andi %lb2, %ln2 : tensor<BKxBNxi1>
    %a = tt.load %at, MASKA : tensor<BMxBKx!tt.ptr<DT>>
    %b = tt.load %bt, MASKB : tensor<BKxBNx!tt.ptr<DT>>
STEP
    %as = tt.splat %cbk : i32 -> tensor<BMxBKxi32>
    %an = tt.addptr %at, %as : tensor<BMxBKx!tt.ptr<DT>>, tensor<BMxBKxi32>
    %bs = tt.splat %bstep : i32 -> tensor<BKxBNxi32>
    %bnx = tt.addptr %bt, %bs : tensor<BKxBNx!tt.ptr<DT>>, tensor<BKxBNxi32>
    scf.yield %an, %bnx, %next : tensor<BMxBKx!tt.ptr<DT>>, tensor<BKxBNx!tt.ptr<DT>>, tensor<BMxBNxCT>
  }
  %cps = tt.splat %cp : !tt.ptr<CT> -> tensor<BMx1x!tt.ptr<CT>>
  %om1 = arith.muli %omc, %omN : tensor<BMx1xi32>
  %cp1 = tt.addptr %cps, %om1 : tensor<BMx1x!tt.ptr<CT>>, tensor<BMx1xi32>
  %cp2 = tt.broadcast %cp1 : tensor<BMx1x!tt.ptr<CT>> -> tensor<BMxBNx!tt.ptr<CT>>
  %on2 = tt.broadcast %onc : tensor<1xBNxi32> -> tensor<BMxBNxi32>
  %cpt = tt.addptr %cp2, %on2 : tensor<BMxBNx!tt.ptr<CT>>, tensor<BMxBNxi32>
  %slm = tt.broadcast %livem : tensor<BMx1xi1> -> tensor<BMxBNxi1>
  %sln = tt.broadcast %liven : tensor<1xBNxi1> -> tensor<BMxBNxi1>
  %sl = arith.andi %slm, %sln : tensor<BMxBNxi1>
  tt.store %cpt, %all#2, %sl : tensor<BMxBNx!tt.ptr<CT>>
  tt.return
}
}
";

/// What the loop does with its blocks.
#[derive(Clone, Copy)]
enum Steps {
    /// It adds their product to the sum, which nothing else reads.
    Product,
    /// It adds two products.
    Two,
    /// It doubles the sum after each product.
    Doubled,
}

#[derive(Clone, Copy)]
struct Case {
    dtype: &'static str,
    sum: &'static str,
    precision: &'static str,
    /// Sizes of a block, and of the matrices, by m, n, k.
    block: [usize; 3],
    sizes: [usize; 3],
    /// Rows and columns wrap around, instead of being masked.
    wraps: bool,
    /// b lies in memory column by column.
    turned: bool,
    other: &'static str,
    steps: Steps,
}

impl Case {
    fn kernel(&self) -> String {
        let product = |of: &str, to: &str| {
            format!(
                "    {to} = tt.dot %a, %b, {of}, inputPrecision = {} : tensor<BMxBKxDT> * tensor<BKxBNxDT> -> tensor<BMxBNxCT>\n",
                self.precision
            )
        };
        let step = match self.steps {
            Steps::Product => product("%acc", "%next"),
            Steps::Two => product("%acc", "%one") + &product("%one", "%next"),
            Steps::Doubled => {
                product("%acc", "%one") + "    %next = arith.addf %one, %one : tensor<BMxBNxCT>\n"
            }
        };
        let (row, column) = if self.wraps {
            ("%rm", "%rn")
        } else {
            ("%om", "%on")
        };
        let (mask_a, mask_b) = if self.wraps {
            ("%la2, %oa", "%lb2, %ob")
        } else {
            ("%la3, %oa", "%lb3, %ob")
        };
        let [m, n, k] = self.block.map(|n| n.to_string());
        KERNEL
            .replace("STEP", &step)
            .replace(
                "%om1 = arith",
                "%omN = tt.splat %N : i32 -> tensor<BMx1xi32>\n  %om1 = arith",
            )
            .replace("ROW", row)
            .replace("COLUMN", column)
            .replace("MASKA", mask_a)
            .replace("MASKB", mask_b)
            .replace("OTHER", self.other)
            .replace("BM", &m)
            .replace("BN", &n)
            .replace("BK", &k)
            .replace("DT", self.dtype)
            .replace("CT", self.sum)
    }

    fn launch(&self) -> String {
        let [m, n, k] = self.sizes;
        let [x, y] = [0, 1].map(|i| self.sizes[i].div_ceil(self.block[i]));
        let (dtype, sum) = (self.dtype, self.sum);
        let (sbk, sbn) = if self.turned { (1, k) } else { (n, 1) };
        format!(
            "kernel = \"k.ttir\"\ngrid = [{x}, {y}]\n[args]\n\
             ap = {{ dtype = \"{dtype}\", shape = [{m}, {k}], role = \"in\" }}\n\
             bp = {{ dtype = \"{dtype}\", shape = [{k}, {n}], role = \"in\" }}\n\
             cp = {{ dtype = \"{sum}\", shape = [{m}, {n}], role = \"out\" }}\n\
             M = {m}\nN = {n}\nK = {k}\nsbk = {sbk}\nsbn = {sbn}\n"
        )
    }
}

/// Numbers of about 1, and with `special` a few zeros, infinities, NaN and numbers of any bits.
fn fill(memory: &mut Memory, dtypes: [&str; 3], seed: u64, special: bool) {
    let mut state = seed;
    for (allocation, dtype) in memory.allocations.iter_mut().zip(dtypes) {
        let size = if dtype == "f32" { 4 } else { 2 };
        for bytes in allocation.bytes.chunks_exact_mut(size) {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let drawn = (state >> 33) as u32;
            let ordinary = ((drawn >> 8) as f32 / (1 << 22) as f32 - 2.0).to_bits();
            let wide = match drawn % 997 {
                0 if special => 0x8000_0000,
                1 if special => 0x7f80_0000,
                2 if special => 0x7fc0_0001 | drawn & 0xff00,
                3 if special => 0xff80_0100,
                4 if special => drawn ^ 0x5555_5555,
                _ => ordinary,
            };
            match dtype {
                "f32" => bytes.copy_from_slice(&wide.to_le_bytes()),
                "bf16" => bytes.copy_from_slice(&((wide >> 16) as u16).to_le_bytes()),
                _ => {
                    bytes.copy_from_slice(&half::f16::from_f32(f32::from_bits(wide)).to_bits().to_le_bytes())
                }
            }
        }
    }
}

fn run(case: &Case, seed: u64, special: bool, options: Options) -> (Vec<String>, String) {
    let (text, launch) = (case.kernel(), case.launch());
    let module = tilescope_ir::text::parse(&Source::new("k.ttir", text.as_str())).expect("TTIR");
    let module = VerifiedModule::new(module).expect("verified");
    let file = LaunchFile::parse(Source::new("k.launch.toml", launch)).expect("a launch file");
    let function = file.find_kernel(0, &module).expect("a kernel");
    let evaluated = file.evaluate(&Overrides::default()).expect("evaluated");
    let bound = evaluated
        .bind(&[Signature::of(&module, function)])
        .expect("bound");
    let mut memory = bound.allocate(&Nothing, u64::MAX).expect("allocated");
    fill(&mut memory, [case.dtype, case.dtype, case.sum], seed, special);
    let prepared = Prepared::new(&module, function, &bound.launches[0], options).expect("prepared");
    let listing = prepared.listing();
    let cancel = AtomicBool::new(false);
    let control = Control {
        cancel: &cancel,
        progress: &|_| {},
    };
    let outcome = prepared.run(&mut memory, &control).expect("run");
    let mut left: Vec<String> = outcome
        .findings
        .iter()
        .map(|finding| format!("{finding:?}"))
        .collect();
    left.extend(
        memory
            .allocations
            .iter()
            .map(|a| format!("{} {:x?}", a.name, &a.bytes[..])),
    );
    (left, listing)
}

#[test]
fn products_give_the_bits_of_single_operations() {
    let plain = Case {
        dtype: "f16",
        sum: "f32",
        precision: "tf32",
        block: [64, 64, 32],
        sizes: [64, 64, 256],
        wraps: true,
        turned: false,
        other: "0.0",
        steps: Steps::Product,
    };
    let cases = [
        plain,
        Case {
            sizes: [128, 100, 200],
            ..plain
        },
        Case {
            sizes: [90, 130, 77],
            wraps: false,
            ..plain
        },
        Case {
            sizes: [50, 33, 65],
            block: [32, 16, 16],
            wraps: false,
            other: "1.0",
            ..plain
        },
        Case {
            dtype: "bf16",
            block: [16, 128, 64],
            sizes: [48, 256, 320],
            precision: "ieee",
            ..plain
        },
        Case {
            dtype: "f32",
            block: [32, 32, 16],
            sizes: [64, 64, 100],
            ..plain
        },
        Case {
            dtype: "f32",
            block: [32, 64, 32],
            sizes: [64, 64, 96],
            precision: "ieee",
            ..plain
        },
        Case {
            sum: "f16",
            sizes: [64, 64, 160],
            ..plain
        },
        Case {
            steps: Steps::Two,
            sizes: [64, 64, 160],
            ..plain
        },
        Case {
            steps: Steps::Doubled,
            sizes: [64, 64, 160],
            ..plain
        },
        Case {
            block: [16, 16, 256],
            sizes: [32, 32, 512],
            ..plain
        },
        Case {
            turned: true,
            ..plain
        },
        Case {
            turned: true,
            dtype: "bf16",
            sizes: [90, 130, 77],
            wraps: false,
            other: "1.0",
            ..plain
        },
        Case {
            turned: true,
            block: [16, 32, 64],
            sizes: [16, 40, 100],
            wraps: false,
            steps: Steps::Doubled,
            ..plain
        },
        Case {
            block: [64, 64, 32],
            sizes: [64, 64, 0],
            ..plain
        },
    ];
    for (i, case) in cases.iter().enumerate() {
        for special in [false, true] {
            let options = Options {
                threads: Some(1),
                ..Options::default()
            };
            let stepping = Options {
                lowering: Lowering::Stepping,
                cpu: Cpu::SCALAR,
                ..options
            };
            let (want, _) = run(case, i as u64, special, stepping);
            for cpu in CpuLevel::ALL.into_iter().filter_map(Cpu::at) {
                for threads in [1, 3] {
                    let options = Options {
                        cpu,
                        threads: Some(threads),
                        ..options
                    };
                    let (got, listing) = run(case, i as u64, special, options);
                    // Where every program has whole blocks, operands are widened as they are loaded.
                    let whole = (0..2).all(|d| case.sizes[d].is_multiple_of(case.block[d]));
                    if whole && case.dtype != "f32" && matches!(case.steps, Steps::Product) {
                        assert_eq!(listing.matches("widened").count(), 2, "case {i}\n{listing}");
                    }
                    assert!(got == want, "case {i}, {special}, on {}\n{listing}", cpu.level());
                }
            }
        }
    }
}
