//! Pointers that are loaded and stored: which tensor they are judged against.

mod harness;

use harness::Bench;
use tilescope_diagnostics::Check;
use tilescope_launch::{Argument, Dtype, Role, TensorId};

/// Two tensors that no argument names, and an array of pointers to them.
fn with_array(body: &str, pointers: &[u32]) -> Bench {
    let parameters = "%ptrs: !tt.ptr<!tt.ptr<f32>>, %out: !tt.ptr<f32>";
    let mut bench = Bench::new(parameters, body, 1);
    let a = bench.storage("a", Dtype::F32, Role::InOut, &[4], &[1f32, 2.0, 3.0, 4.0]);
    bench.storage("b", Dtype::F32, Role::InOut, &[4], &[5f32, 6.0, 7.0, 8.0]);
    // The first half of `a`, as a tensor of its own: its address says `a`.
    let mut half = bench.launch().tensors[a.0 as usize].clone();
    half.name = "half".into();
    half.shape = vec![2];
    bench.launch().tensors.push(half);
    let ids: Vec<TensorId> = pointers.iter().map(|&i| TensorId(i)).collect();
    let addresses: Vec<u64> = ids.iter().map(|&id| bench.base(id)).collect();
    let mut bench = bench.tensor("ptrs", Dtype::U64, &addresses);
    if let Some(array) = bench.launch().tensors.last_mut() {
        array.pointers = ids;
    }
    bench.tensor("out", Dtype::F32, &[-1f32; 8])
}

/// Loads four elements through the pointer `%q`, and stores them.
const READ_FOUR: &str = "%r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
     %qs = tt.splat %q : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
     %qa = tt.addptr %qs, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
     %v = tt.load %qa : tensor<4x!tt.ptr<f32>>
     %os = tt.splat %out : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
     %oa = tt.addptr %os, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
     tt.store %oa, %v : tensor<4x!tt.ptr<f32>>";

fn element(index: i32) -> String {
    format!(
        "%at = arith.constant {index} : i32
         %e = tt.addptr %ptrs, %at : !tt.ptr<!tt.ptr<f32>>, i32
         %q = tt.load %e : !tt.ptr<!tt.ptr<f32>>
         {READ_FOUR}"
    )
}

#[test]
fn an_element_of_an_array_of_pointers_is_of_the_tensor_named_there() {
    let ran = with_array(&element(1), &[0, 1, 2]).run().clean();
    assert_eq!(ran.read::<f32>(3)[..4], [5.0, 6.0, 7.0, 8.0]);
    // `half` begins where `a` does, but has two elements.
    let ran = with_array(&element(2), &[0, 1, 2]).run();
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::OutsideView, 2));
    assert_eq!(finding.tensor.as_ref().map(|t| &t.name[..]), Some("half"));
    assert_eq!(finding.lane.as_deref(), Some(&[2u32][..]));
}

#[test]
fn a_tile_of_pointers_to_several_tensors() {
    let body = "%r = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
         %ps = tt.splat %ptrs : !tt.ptr<!tt.ptr<f32>> -> tensor<2x!tt.ptr<!tt.ptr<f32>>>
         %pa = tt.addptr %ps, %r : tensor<2x!tt.ptr<!tt.ptr<f32>>>, tensor<2xi32>
         %q = tt.load %pa : tensor<2x!tt.ptr<!tt.ptr<f32>>>
         %two = arith.constant dense<[3, 4]> : tensor<2xi32>
         %qa = tt.addptr %q, %two : tensor<2x!tt.ptr<f32>>, tensor<2xi32>
         %v = tt.load %qa : tensor<2x!tt.ptr<f32>>
         %os = tt.splat %out : !tt.ptr<f32> -> tensor<2x!tt.ptr<f32>>
         %oa = tt.addptr %os, %r : tensor<2x!tt.ptr<f32>>, tensor<2xi32>
         tt.store %oa, %v : tensor<2x!tt.ptr<f32>>";
    let ran = with_array(body, &[0, 1]).run();
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::OobLoad, 1));
    assert_eq!(finding.tensor.as_ref().map(|t| &t.name[..]), Some("b"));
    assert_eq!(ran.read::<f32>(3)[..2], [4.0, 0.0]);
}

/// Stores a pointer to the end of `%a` in `%cell` (where no tensor's view contains it), loads it again,
/// goes back by `back` elements and reads four.
fn through_memory(back: i32, between: &str) -> harness::Ran {
    let body = format!(
        "%c4 = arith.constant 4 : i32
         %end = tt.addptr %a, %c4 : !tt.ptr<f32>, i32
         tt.store %cell, %end : !tt.ptr<!tt.ptr<f32>>
         {between}
         %p = tt.load %cell : !tt.ptr<!tt.ptr<f32>>
         %back = arith.constant -{back} : i32
         %q = tt.addptr %p, %back : !tt.ptr<f32>, i32
         {READ_FOUR}"
    );
    let parameters = "%cell: !tt.ptr<!tt.ptr<f32>>, %a: !tt.ptr<f32>, %out: !tt.ptr<f32>";
    Bench::new(parameters, &body, 1)
        .tensor("cell", Dtype::U64, &[0u64])
        .tensor("a", Dtype::F32, &[1f32, 2.0, 3.0, 4.0])
        .tensor("out", Dtype::F32, &[-1f32; 4])
        .run()
}

#[test]
fn a_stored_pointer_keeps_its_tensor() {
    let ran = through_memory(4, "").clean();
    assert_eq!(ran.read::<f32>(2), [1.0, 2.0, 3.0, 4.0]);
    let ran = through_memory(3, "");
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::OobLoad, 1));
    assert_eq!(finding.tensor.as_ref().map(|t| &t.name[..]), Some("a"));
}

#[test]
fn a_number_stored_over_a_pointer_forgets_its_tensor() {
    let between = "%n = tt.bitcast %cell : !tt.ptr<!tt.ptr<f32>> -> !tt.ptr<i64>
         %odd = arith.constant 4096 : i64
         tt.store %n, %odd : !tt.ptr<i64>";
    assert_eq!(through_memory(4, between).checks(), [(Check::WildPointer, 4)]);
}

#[test]
fn masked_off_lanes_have_the_tensor_of_the_other_value() {
    let body = format!(
        "%no = arith.constant false
         %p = tt.load %cell, %no, %a : !tt.ptr<!tt.ptr<f32>>
         %q = tt.addptr %p, %zero : !tt.ptr<f32>, i32
         {READ_FOUR}"
    );
    let body = format!("%zero = arith.constant 1 : i32\n{body}");
    let parameters = "%cell: !tt.ptr<!tt.ptr<f32>>, %a: !tt.ptr<f32>, %out: !tt.ptr<f32>";
    let ran = Bench::new(parameters, &body, 1)
        .tensor("cell", Dtype::U64, &[0u64])
        .tensor("a", Dtype::F32, &[1f32, 2.0, 3.0, 4.0])
        .tensor("out", Dtype::F32, &[-1f32; 4])
        .run();
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::OobLoad, 1));
    assert_eq!(finding.tensor.as_ref().map(|t| &t.name[..]), Some("a"));
}

#[test]
fn all_lanes_at_one_faulty_address_count() {
    for (null, check, count) in [("0", Check::WildPointer, 4), ("4", Check::OobLoad, 4)] {
        let body = format!(
            "%c = arith.constant {null} : i32
             %p = tt.addptr %a, %c : !tt.ptr<f32>, i32
             %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
             %v = tt.load %ps : tensor<4x!tt.ptr<f32>>
             %r = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
             %os = tt.splat %out : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
             %oa = tt.addptr %os, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
             tt.store %oa, %v : tensor<4x!tt.ptr<f32>>"
        );
        let bench = Bench::new("%a: !tt.ptr<f32>, %out: !tt.ptr<f32>", &body, 1);
        let bench = match check {
            Check::WildPointer => bench.argument(Argument::Null),
            _ => bench.tensor("a", Dtype::F32, &[1f32; 4]),
        };
        let ran = bench.tensor("out", Dtype::F32, &[-1f32; 4]).run();
        assert_eq!(ran.checks(), [(check, count)]);
    }
}
