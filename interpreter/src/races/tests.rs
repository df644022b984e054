//! Races against every pair of accesses compared by hand.

use super::*;

fn who(at: u32, touch: Touch) -> Who {
    Who {
        allocation: 0,
        tensor: 1,
        at: At(at),
        touch,
        elem: 4,
    }
}

/// Races by comparing every pair of accesses of every byte.
fn by_hand(accesses: &[(Who, u64, u64, u64)]) -> bool {
    accesses.iter().enumerate().any(|(i, a)| {
        accesses[..i]
            .iter()
            .any(|b| a.3 != b.3 && a.0.touch.conflicts(b.0.touch) && a.1 < b.2 && b.1 < a.2)
    })
}

#[test]
fn what_conflicts() {
    use Touch::*;
    let races = [(Read, Write), (Write, Write), (Write, Atomic), (Read, Atomic)];
    for a in [Read, Write, Atomic] {
        for b in [Read, Write, Atomic] {
            let expected = races.contains(&(a, b)) || races.contains(&(b, a));
            assert_eq!(a.conflicts(b), expected, "{a:?} {b:?}");
        }
    }
}

#[test]
fn any_form_and_any_split_give_the_same_races() {
    let mut state = 1u64;
    let mut random = |n: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    for round in 0..300 {
        let touches = [Touch::Read, Touch::Write, Touch::Atomic];
        let accesses: Vec<(Who, u64, u64, u64)> = (0..random(12) + 1)
            .map(|_| {
                let start = 4 * random(if round % 2 == 0 { 12 } else { 200 });
                let touch = touches[random(3) as usize];
                (
                    who(random(2) as u32 + 10 * touch as u32, touch),
                    start,
                    start + 4 * (1 + random(4)),
                    random(4),
                )
            })
            .collect();
        let shared = SharedCells::default();
        let mut parts = [Noted::default(), Noted::default(), Noted::default()];
        let mut whole = Noted::default();
        let mut celled = Noted::default();
        for &(who, ..) in &accesses {
            celled.log(who).cells = Some(shared.of(who, 1024));
        }
        for &(who, start, end, program) in &accesses {
            let unshared = SharedCells::default();
            whole.add(who, start, end, program, &unshared, 1024);
            parts[random(3) as usize].add(who, start, end, program, &unshared, 1024);
            celled.add(who, start, end, program, &shared, 1024);
        }
        let [mut merged, b, c] = parts;
        merged.merge(c);
        merged.merge(b);
        let races = whole.races();
        assert_eq!(!races.races.is_empty(), by_hand(&accesses), "{accesses:?}");
        assert_eq!(merged.races(), races, "{accesses:?}");
        assert_eq!(celled.races(), races, "{accesses:?}");
    }
}

#[test]
fn tiles_of_a_matrix_are_apart_unless_they_overlap() {
    let store = who(1, Touch::Write);
    let shared = SharedCells::default();
    // 4 by 4 tiles of 8 rows by 16 bytes of a matrix with rows of 64 bytes.
    let tiles = |noted: &mut Noted, shift: u64| {
        for program in 0..16 {
            let (row, column) = (program / 4 * 8, program % 4 * 16);
            let start = row * 64 + column + if program == 5 { shift } else { 0 };
            noted.add_rows(store, [start, 16, 64], 8, program, &shared, 1 << 20);
        }
    };
    let mut noted = Noted::default();
    tiles(&mut noted, 0);
    assert!(!are_in_a_row(&noted.logs) && are_tiles(&noted.logs));
    assert_eq!(noted.races(), Found::default());
    for (shift, programs) in [(4, (6, 5)), (64, (9, 5))] {
        let mut noted = Noted::default();
        tiles(&mut noted, shift);
        assert!(!are_tiles(&noted.logs));
        let races = noted.races().races;
        assert_eq!((races.len(), races[0].programs), (1, programs), "{shift}");
    }
}

#[test]
fn blocks_of_neighbouring_programs_are_one_strip() {
    let (mut noted, shared) = (Noted::default(), SharedCells::default());
    let store = who(1, Touch::Write);
    for program in 0..1000 {
        noted.add(
            store,
            program * 4096,
            (program + 1) * 4096,
            program,
            &shared,
            1 << 30,
        );
    }
    assert_eq!(noted.logs[0].1.strips.len(), 1);
    assert_eq!(noted.clone().races(), Found::default());
    noted.add(store, 4092, 4096, 7, &shared, 1 << 30);
    let races = noted.races().races;
    assert_eq!(races.len(), 1);
    assert_eq!(
        (races[0].programs, races[0].offset, races[0].bytes),
        ((7, 0), 4092, 4)
    );
}

#[test]
fn programs_noted_at_once_are_as_noted_one_by_one() {
    let shared = SharedCells::default();
    for (stride, bytes, count) in [
        (8, 8, 9),
        (4, 8, 3),
        (0, 8, 5),
        (-16, 8, 4),
        (8, 8, 1),
        (24, 8, 2),
    ] {
        for first in [0u64, 6, 7, u64::from(u32::MAX) - 3] {
            let (mut at_once, mut by_one) = (Noted::default(), Noted::default());
            for noted in [&mut at_once, &mut by_one] {
                // What is there goes on, or does not.
                noted.add(who(1, Touch::Write), 48, 56, 5, &shared, 1000);
                noted.add(who(1, Touch::Write), 56, 64, 6, &shared, 1000);
            }
            let programs = first..first + count;
            at_once.add_even(
                who(1, Touch::Write),
                [64, bytes],
                stride,
                programs.clone(),
                &shared,
                1000,
            );
            for (i, program) in (0..).zip(programs) {
                let start = 64u64.wrapping_add_signed(stride * i);
                by_one.add(who(1, Touch::Write), start, start + bytes, program, &shared, 1000);
            }
            let strips = |noted: &Noted| noted.logs[0].1.strips.clone();
            assert_eq!(
                strips(&at_once),
                strips(&by_one),
                "{stride} {bytes} {count} {first}"
            );
        }
    }
}

#[test]
fn only_what_several_programs_write_is_compared_until_it_differs() {
    let compare = Compare::new(vec![(1, 8, 16), (1, 20, 24), (3, 0, 4)]);
    let wanted = |allocation, bytes| {
        let runs = compare.wanted(allocation, bytes);
        runs.map(|run| (run.start, run.end)).collect::<Vec<_>>()
    };
    assert_eq!(wanted(1, 0..100), [(8, 16), (20, 24)]);
    assert_eq!(wanted(1, 10..22), [(10, 16), (20, 22)]);
    assert_eq!(wanted(1, 16..20), []);
    assert_eq!(wanted(0, 0..100), []);
    assert_eq!(wanted(3, 2..100), [(2, 4)]);
    assert!(compare.is_equal(1) && compare.is_equal(3) && compare.is_equal(0));
    compare.differs(1);
    assert_eq!(wanted(1, 0..100), []);
    assert_eq!(wanted(3, 0..100), [(0, 4)]);
    assert!(!compare.is_equal(1) && compare.is_equal(3));
}

#[test]
fn rows_taken_in_turn_are_apart_unless_two_take_one() {
    let store = who(1, Touch::Write);
    let shared = SharedCells::default();
    // 40 rows of 40 bytes, of which seven programs take one each in turn: some take six, some five. `more` bytes
    // of each row that program 5 takes belong to the next one's.
    let rows = |wide: u64, more: u64| {
        let mut parts = [Noted::default(), Noted::default()];
        for program in 0..7 {
            for row in (program..40).step_by(7) {
                let end = row * 40 + wide + if program == 5 { more } else { 0 };
                parts[(program % 2) as usize].add(store, row * 40, end, program, &shared, 1 << 20);
            }
        }
        let [mut all, other] = parts;
        all.merge(other);
        all
    };
    for wide in [4, 36, 40] {
        let mut noted = rows(wide, 0);
        assert!(are_tiles(&noted.logs), "{wide}");
        assert_eq!(noted.races(), Found::default(), "{wide}");
    }
    assert!(are_tiles(&rows(36, 4).logs));
    let mut noted = rows(36, 8);
    assert!(!are_tiles(&noted.logs));
    let races = noted.races().races;
    assert_eq!(races.len(), 1);
    assert_eq!(
        (races[0].programs, races[0].offset, races[0].bytes),
        ((6, 5), 240, 4 * 5)
    );
}
