//! Philox 4x32-10: four random words for each (key, counter), with no state between calls.
//!
//! J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).

/// The generator's ten rounds, for several counters at once.
#[inline(always)]
pub(crate) fn philox<const LANES: usize>(counter: [[u32; LANES]; 4], mut key: [u32; 2]) -> [[u32; LANES]; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    for _ in 0..10 {
        for lane in 0..LANES {
            let a = u64::from(c0[lane]) * 0xD251_1F53;
            let b = u64::from(c2[lane]) * 0xCD9E_8D57;
            (c0[lane], c1[lane]) = ((b >> 32) as u32 ^ c1[lane] ^ key[0], b as u32);
            (c2[lane], c3[lane]) = ((a >> 32) as u32 ^ c3[lane] ^ key[1], a as u32);
        }
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    [c0, c1, c2, c3]
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
        let [a, b] = self.block::<1>(k);
        [a[0], b[0]]
    }

    /// Two random 64-bit words for each of the elements from `first` on: first words, second words.
    ///
    /// The loops are over lanes, so that the compiler makes vector code of them.
    #[inline(always)]
    pub fn block<const LANES: usize>(&self, first: u64) -> [[u64; LANES]; 2] {
        let number: [[u32; 2]; LANES] = std::array::from_fn(|lane| halves(first.wrapping_add(lane as u64)));
        let counter = [
            number.map(|[low, _]| low),
            number.map(|[_, high]| high),
            [self.hash[0]; LANES],
            [self.hash[1]; LANES],
        ];
        let [a, b, c, d] = philox(counter, self.key);
        let join = |low: [u32; LANES], high: [u32; LANES]| {
            std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
        };
        [join(a, b), join(c, d)]
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
        let words = |counter: [u32; 4], key| philox(counter.map(|word| [word]), key).map(|[word]| word);
        assert_eq!(
            words([0; 4], [0; 2]),
            [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
        );
        assert_eq!(
            words([!0; 4], [!0; 2]),
            [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]
        );
        assert_eq!(
            words(
                [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
                [0xa4093822, 0x299f31d0]
            ),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn lanes_are_independent() {
        let stream = Stream::new(3, "x");
        let [a, b] = stream.block::<8>(u64::MAX - 3);
        for lane in 0..8 {
            assert_eq!(
                [a[lane], b[lane]],
                stream.words((u64::MAX - 3).wrapping_add(lane as u64))
            );
        }
    }

    /// Published test values of FNV-1a.
    #[test]
    fn hashes() {
        assert_eq!(fnv1a(b""), 0xcbf29ce484222325);
        assert_eq!(fnv1a(b"a"), 0xaf63dc4c8601ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }
}
