//! Triton's random numbers: `tl.rand` with 32-bit offsets, bit for bit.
//!
//! The generator is Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011): counter (offset, 0, 0, 0), key the two halves of the seed.

const ROUNDS: u32 = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The four words of Philox 4x32-10 for a counter and a key.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let product0 = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let product1 = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (product1 >> 32) as u32 ^ counter[1] ^ key[0],
            product1 as u32,
            (product0 >> 32) as u32 ^ counter[3] ^ key[1],
            product0 as u32,
        ];
        key = [
            key[0].wrapping_add(KEY_STEPS[0]),
            key[1].wrapping_add(KEY_STEPS[1]),
        ];
    }
    counter
}

/// `tl.randint(seed, offset)`, as unsigned bits.
fn randint(seed: u64, offset: u32) -> u32 {
    philox([offset, 0, 0, 0], [seed as u32, (seed >> 32) as u32])[0]
}

/// A random integer as a float, uniform in [0, 1).
fn uniform(bits: u32) -> f32 {
    let signed = bits as i32;
    let folded = if signed < 0 { !signed } else { signed };
    // A little under 2^-31, so that i32::MAX, which rounds up to 2^31, stays below 1.
    folded as f32 * 4.656_612_7e-10
}

/// `tl.rand(seed, offset)`: uniform in [0, 1).
pub(crate) fn rand(seed: u64, offset: u32) -> f32 {
    uniform(randint(seed, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Measured on a GPU (H200) with Triton: seed, then offsets 0, 1, 2, 3 and 15.
    const OFFSETS: [u32; 5] = [0, 1, 2, 3, 15];
    #[rustfmt::skip]
    const GOLDEN: [(u64, [u32; 5], [u32; 5]); 3] = [
        (0, [0x6627_e8d5, 0xf8e4_cca4, 0x04fa_a329, 0xc990_ef29, 0xa2e8_7675],
            [0x3f4c_4fd1, 0x3d63_666a, 0x3d1f_5464, 0x3ed9_bc42, 0x3f3a_2f12]),
        (42, [0x9cea_f053, 0xfcdb_2127, 0xd36c_0225, 0xbac7_0475, 0xbe27_0a20],
            [0x3f46_2a1e, 0x3cc9_37b5, 0x3eb2_4ff6, 0x3f0a_71f6, 0x3f03_b1eb]),
        (305419896, [0x6b94_bb73, 0xf0fa_d434, 0x90f2_d3ca, 0x279a_b5f0, 0xb199_3f67],
            [0x3f57_2976, 0x3df0_52bc, 0x3f5e_1a57, 0x3e9e_6ad7, 0x3f1c_cd80]),
    ];

    #[test]
    fn known_answer_of_the_paper() {
        assert_eq!(
            philox([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
    }

    #[test]
    fn agrees_with_the_card() {
        for (seed, integers, floats) in GOLDEN {
            assert_eq!(
                OFFSETS.map(|offset| randint(seed, offset)),
                integers,
                "randint, seed {seed}"
            );
            assert_eq!(
                OFFSETS.map(|offset| rand(seed, offset).to_bits()),
                floats,
                "rand, seed {seed}"
            );
        }
    }

    #[test]
    fn uniform_stays_inside() {
        assert_eq!(uniform(0), 0.0);
        assert_eq!(uniform(u32::MAX), 0.0);
        assert_eq!(uniform(0x8000_0000), uniform(0x7fff_ffff));
        assert!(uniform(0x7fff_ffff) < 1.0);
    }
}
