//! The loads and stores of the A64 instruction set that a compiler makes of the kernels (Arm ARM C4.1.94).

use crate::expected::Kind;

/// X0 to X30 and SP, before the instruction.
pub type Registers = [u64; 32];

/// The accesses of one instruction, whatever their size. Panics on a load or store that it does not know.
pub fn accesses(word: u32, registers: &Registers) -> Vec<(Kind, u64)> {
    let field = |low: u32, bits: u32| (word >> low) & ((1 << bits) - 1);
    let signed = |low: u32, bits: u32| i64::from((field(low, bits) << (32 - bits)) as i32 >> (32 - bits));
    if field(27, 1) != 1 || field(25, 1) != 0 {
        return Vec::new();
    }
    let base = registers[field(5, 5) as usize];
    let unknown = || -> ! { panic!("a load or store that this decoder does not know: {word:#010x}") };
    if field(26, 1) == 1 {
        unknown(); // Vector registers: the kernels use none.
    }
    match (field(27, 3), field(24, 2)) {
        // Exclusive, one register (LDXR, STXR).
        (0b001, 0) if field(21, 1) == 0 => vec![(if field(22, 1) == 1 { Kind::Load } else { Kind::Store }, base)],
        // A pair past the caches (STNP of two halves of 32 bits) is one access of 8 bytes.
        (0b101, 0) if field(23, 1) == 0 && field(30, 2) == 0 && field(22, 1) == 0 => {
            vec![(Kind::Store, base.wrapping_add_signed(signed(15, 7) * 4))]
        }
        // Pairs: post-indexed, with offset, pre-indexed.
        (0b101, indexing) => {
            let scale = if field(31, 1) == 1 { 8 } else { 4 };
            let offset = if indexing == 0 && field(23, 1) == 1 { 0 } else { signed(15, 7) * scale };
            let kind = if field(22, 1) == 1 { Kind::Load } else { Kind::Store };
            let first = base.wrapping_add_signed(offset);
            vec![(kind, first), (kind, first.wrapping_add_signed(scale))]
        }
        // One register, unsigned scaled offset.
        (0b111, 1) => vec![(single(word), base + (u64::from(field(10, 12)) << field(30, 2)))],
        // One register: unscaled, post-indexed, pre-indexed offset; offset in a register.
        (0b111, 0) => {
            let offset = match (field(21, 1), field(10, 2)) {
                (0, 0 | 3) => signed(12, 9),
                (0, 1) => 0,
                (1, 2) if field(13, 3) == 0b011 => {
                    let index = registers[field(16, 5) as usize] as i64;
                    if field(12, 1) == 1 { index << field(30, 2) } else { index }
                }
                _ => unknown(),
            };
            vec![(single(word), base.wrapping_add_signed(offset))]
        }
        _ => unknown(),
    }
}

/// Size 3 with opc 2 is a prefetch; it must be PLDL1KEEP (0).
fn single(word: u32) -> Kind {
    match ((word >> 30) & 3, (word >> 22) & 3) {
        (3, 2) => {
            assert_eq!(word & 31, 0, "a prefetch that is not PLDL1KEEP: {word:#010x}");
            Kind::Prefetch
        }
        (_, 0) => Kind::Store,
        _ => Kind::Load,
    }
}
