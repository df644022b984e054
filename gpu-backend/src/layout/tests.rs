use super::*;
use proptest::prelude::*;
use tilescope_ir::Shape;

fn shape(dims: &[u64]) -> Shape {
    Shape::new(dims).unwrap()
}

#[test]
fn a_blocked_layout_puts_neighbours_in_one_thread() {
    let form = Blocked {
        fast: 0,
        vector: 2,
        warps: 2,
    };
    let layout = blocked(shape(&[1024]), &form);
    assert_eq!(layout.regs, [1, 2, 512]);
    assert_eq!(layout.threads, [4, 8, 16, 32, 64, 128, 256]);
    assert_eq!(layout.element(3, 0), 3);
    assert_eq!(layout.element(0, 1), 4);
    assert_eq!(layout.element(4, 0), 512);
}

#[test]
fn rows_belong_to_one_warp_where_they_can() {
    let form = Blocked {
        fast: 1,
        vector: 2,
        warps: 2,
    };
    let layout = blocked(shape(&[64, 64]), &form);
    // 16 lanes on a row, two rows to a warp, warps on the top rows' bits.
    assert_eq!(layout.threads, [4, 8, 16, 32, 64, 128, 256]);
    let column = blocked(shape(&[64, 64]), &Blocked { fast: 0, ..form });
    assert_eq!(column.regs[..2], [64, 128]);
}

#[test]
fn small_tiles_are_held_by_several_threads() {
    let layout = blocked(
        shape(&[16]),
        &Blocked {
            fast: 0,
            vector: 2,
            warps: 2,
        },
    );
    assert_eq!(layout.regs, [0u32; 0]);
    assert_eq!(layout.idle_threads(), 0b111_0000);
    let scalar = blocked(
        shape(&[1]),
        &Blocked {
            fast: 0,
            vector: 2,
            warps: 0,
        },
    );
    assert_eq!(scalar.idle_threads(), 31);
}

#[test]
fn a_transposed_read_needs_other_threads_and_a_broadcast_does_not() {
    let square = shape(&[64, 64]);
    let layout = blocked(
        square,
        &Blocked {
            fast: 1,
            vector: 2,
            warps: 2,
        },
    );
    let trans = IndexMap::permuted(square, square, &[1, 0]);
    assert_eq!(layout.registers_for(&layout.identity().through(&trans)), None);
    let row = slice(&layout, square, 1);
    let (column, tile) = (shape(&[64, 1]), square);
    let map = IndexMap::broadcast(column, tile);
    let found = row.registers_for(&layout.identity().through(&map)).unwrap();
    for register in 0..layout.registers() as u32 {
        for thread in 0..layout.thread_count() as u32 {
            let wanted = layout.element(register, thread) / 64;
            assert_eq!(row.element(found.apply(register), thread), wanted);
        }
    }
}

/// Shapes of up to 2^12 elements.
fn shapes() -> impl Strategy<Value = Shape> {
    prop::collection::vec(0u32..5, 1..4).prop_map(|bits| {
        let dims: Vec<u64> = bits.iter().map(|&b| 1 << b).collect();
        Shape::new(&dims).unwrap()
    })
}

proptest! {
    #[test]
    fn blocked_layouts_hold_every_element(s in shapes(), fast in 0usize..3, vector in 0u32..4, warps in 0u32..4) {
        let layout = blocked(s, &Blocked { fast: fast % s.rank(), vector, warps });
        prop_assert!(layout.covers(s.elements()));
        prop_assert!(layout.regs.iter().all(|&basis| basis != 0));
        // No element is twice in one thread, and none in two threads unless they are idle.
        let mut holders = vec![0usize; s.elements()];
        for register in 0..layout.registers() as u32 {
            for thread in 0..layout.thread_count() as u32 {
                holders[layout.element(register, thread) as usize] += 1;
            }
        }
        let copies = 1usize << layout.idle_threads().count_ones();
        prop_assert!(holders.iter().all(|&n| n == copies));
    }

    #[test]
    fn slices_hold_the_rest_in_the_same_threads(s in shapes(), axis in 0usize..3, warps in 0u32..3) {
        let axis = axis % s.rank();
        let layout = blocked(s, &Blocked { fast: s.rank() - 1, vector: 2, warps });
        let rest = slice(&layout, s, axis);
        prop_assert!(rest.covers(s.without(axis).unwrap().elements()));
        // Whoever holds an element of the tile holds its row's result.
        let map = IndexMap::broadcast(s.without(axis).unwrap().with_inserted(axis, 1).unwrap(), s);
        let found = rest.registers_for(&layout.identity().through(&map));
        prop_assert!(found.is_some());
    }

    #[test]
    fn registers_for_finds_what_is_there(s in shapes(), offset in 0u32..64) {
        let layout = blocked(s, &Blocked { fast: 0, vector: 1, warps: 1 });
        let offset = combine(&layout.regs, offset);
        let access = Access { layout: layout.clone(), offset };
        let map = layout.registers_for(&access).unwrap();
        for register in 0..layout.registers() as u32 {
            prop_assert_eq!(layout.element(map.apply(register), 3), access.element(register, 3));
        }
    }

    #[test]
    fn permuting_there_and_back_is_the_identity(s in shapes(), a in 0usize..6) {
        let orders: [&[u32]; 6] = [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]];
        let order: Vec<u32> = orders[a].iter().copied().filter(|&d| (d as usize) < s.rank()).collect();
        let dims: Vec<u64> = order.iter().map(|&d| s.dim(d as usize) as u64).collect();
        let to = Shape::new(&dims).unwrap();
        let mut back = vec![0u32; order.len()];
        for (i, &d) in order.iter().enumerate() { back[d as usize] = i as u32; }
        let (there, home) = (IndexMap::permuted(s, to, &order), IndexMap::permuted(to, s, &back));
        for index in 0..s.elements() as u32 {
            prop_assert_eq!(there.apply(home.apply(index)), index);
        }
    }
}
