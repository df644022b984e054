//! Reductions of tiles that are the same in all lanes, with regions that call functions.

#[path = "../harness/mod.rs"]
mod harness;

use harness::Bench;
use tilescope_launch::Dtype;

/// Reduces a 64 x 16 tile of 3 along its rows, then along the rest, by `@f`, and stores both.
fn reduced_twice(function: &str) -> (Vec<i32>, i32) {
    let combine = "^bb0(%a: i32, %b: i32):
           %c = tt.call @f(%a, %b) : (i32, i32) -> i32
           tt.reduce.return %c : i32";
    let text = format!(
        "module {{
         tt.func public @k(%rows: !tt.ptr<i32>, %all: !tt.ptr<i32>) {{
           %x = arith.constant dense<3> : tensor<64x16xi32>
           %r = \"tt.reduce\"(%x) <{{axis = 1 : i32}}> ({{
           {combine}
           }}) : (tensor<64x16xi32>) -> tensor<64xi32>
           %s = \"tt.reduce\"(%r) <{{axis = 0 : i32}}> ({{
           {combine}
           }}) : (tensor<64xi32>) -> i32
           %i = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
           %ps = tt.splat %rows : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
           %pa = tt.addptr %ps, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
           tt.store %pa, %r : tensor<64x!tt.ptr<i32>>
           tt.store %all, %s : !tt.ptr<i32>
           tt.return
         }}
         {function}
         }}"
    );
    let ran = Bench::of_text(text, 1)
        .tensor("rows", Dtype::I32, &[0i32; 64])
        .tensor("all", Dtype::I32, &[0i32])
        .run()
        .clean();
    (ran.read(0), ran.read(1)[0])
}

#[test]
fn a_region_with_branches_gives_every_row() {
    let function = "tt.func private @f(%a: i32, %b: i32) -> i32 {
           %c = arith.cmpi sgt, %a, %b : i32
           cf.cond_br %c, ^bb1, ^bb2
         ^bb1:
           tt.return %a : i32
         ^bb2:
           %s = arith.addi %a, %b : i32
           tt.return %s : i32
         }";
    let f = |a: i32, b: i32| if a > b { a } else { a + b };
    // 16 partials in rising order, then halves; here all partials are alike.
    let row = (0..4).fold(3, |sum, _| f(sum, sum));
    let part = (1..4).fold(row, |sum, _| f(sum, row));
    let all = (0..4).fold(part, |sum, _| f(sum, sum));
    assert_eq!(reduced_twice(function), (vec![row; 64], all));
}

#[test]
fn a_block_that_nobody_enters_does_no_harm() {
    let function = "tt.func private @f(%a: i32, %b: i32) -> i32 {
           %s = arith.addi %a, %b : i32
           tt.return %s : i32
         ^bb1:
           %p = ub.poison : i32
           tt.return %p : i32
         }";
    assert_eq!(reduced_twice(function), (vec![48; 64], 48 * 64));
}

#[test]
fn moves_in_a_region_take_as_many_lanes_as_it_runs_on() {
    // Exchanging the operands through a carried loop moves values of every batch size.
    let function = "tt.func private @f(%a: i32, %b: i32) -> i32 {
           %zero = arith.constant 0 : i32
           %one = arith.constant 1 : i32
           %r:2 = scf.for %i = %zero to %one step %one iter_args(%x = %a, %y = %b) -> (i32, i32) : i32 {
             scf.yield %y, %x : i32, i32
           }
           %s = arith.addi %r#0, %r#1 : i32
           tt.return %s : i32
         }";
    assert_eq!(reduced_twice(function), (vec![48; 64], 48 * 64));
}
