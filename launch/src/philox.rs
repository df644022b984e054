//! Philox 4x32-10: four random words for each (key, counter), with no state between calls.
//!
//! J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).

/// The generator's ten rounds.
#[inline]
pub(crate) fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        let (a_high, a_low) = ((a >> 32) as u32, a as u32);
        let (b_high, b_low) = ((b >> 32) as u32, b as u32);
        counter = [
            b_high ^ counter[1] ^ key[0],
            b_low,
            a_high ^ counter[3] ^ key[1],
            a_low,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// The random words of one argument: its seed is the key, its element number and the hash of its name
/// are the counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    key: [u32; 2],
    hash: [u32; 2],
}

impl Stream {
    pub fn new(seed: u64, name: &str) -> Stream {
        Stream {
            key: halves(seed),
            hash: halves(fnv1a(name.as_bytes())),
        }
    }

    /// Two random 64-bit words for element `k`.
    #[inline]
    pub fn words(&self, k: u64) -> [u64; 2] {
        let [low, high] = halves(k);
        let [a, b, c, d] = philox([low, high, self.hash[0], self.hash[1]], self.key);
        [
            u64::from(a) | u64::from(b) << 32,
            u64::from(c) | u64::from(d) << 32,
        ]
    }
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// FNV-1a with 64 bits: fixed for ever, as data must not change between versions.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that come with the authors' own code (Random123, `kat_vectors`).
    #[test]
    fn known_answers() {
        assert_eq!(
            philox([0; 4], [0; 2]),
            [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
        );
        assert_eq!(
            philox([!0; 4], [!0; 2]),
            [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]
        );
        assert_eq!(
            philox(
                [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
                [0xa4093822, 0x299f31d0]
            ),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    /// Published test values of FNV-1a.
    #[test]
    fn hashes() {
        assert_eq!(fnv1a(b""), 0xcbf29ce484222325);
        assert_eq!(fnv1a(b"a"), 0xaf63dc4c8601ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }
}
