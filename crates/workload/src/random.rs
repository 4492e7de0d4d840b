//! The generator that the stream, the simulator and the C kernels share.

/// Marsaglia's xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016):
/// one 64-bit word of state, so that a C kernel keeps it in a register. Its twin is `wk_next` in `c/random.h`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xorshift(u64);

impl Xorshift {
    /// A generator for a seed; every seed, 0 included, has a usable state (SplitMix64 of the seed, never 0).
    pub fn new(seed: u64) -> Self {
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)).max(1))
    }

    /// The raw state, for the parameter block of a C kernel.
    pub fn state(&self) -> u64 {
        self.0
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound` (which is at least 1), from the upper 32 bits by multiply and shift; `bound` is at most 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() >> 32) * bound) >> 32
    }
}
