//! CPUID leaves of a core: of the running machine, or recorded.
//!
//! A recording has them in the form of `cpuid -r` (the program `cpuid` of Todd Allen), which others read and write too:
//! `0x00000004 0x01: eax=0x... ebx=0x... ecx=0x... edx=0x...`, a line for each leaf and subleaf.

use std::collections::BTreeMap;
use std::fmt;

use raw_cpuid::{CpuId, CpuIdResult};

use crate::root::Root;

/// The leaves of one core, by leaf and subleaf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaves(BTreeMap<(u32, u32), CpuIdResult>);

/// The processor serial number.
const SERIAL_NUMBER: u32 = 3;
/// The first extended leaf.
const EXTENDED: u32 = 0x8000_0000;
/// The first leaf of a hypervisor.
const HYPERVISOR: u32 = 0x4000_0000;
/// No list of subleaves is longer.
const MOST_SUBLEAVES: u32 = 64;

/// Whether the files that this process sees are a simulated platform's: the instruction is then another machine's.
pub fn in_room() -> bool {
    std::env::var_os("WAYKEEPER_ROOM").is_some()
}

impl Leaves {
    /// Those of a core: asked of the running machine (on that core), or recorded. `None` where there are none: another
    /// architecture, or a tree without them.
    pub fn of(root: &Root, core: u32) -> Option<Self> {
        if root.is_running() {
            return if in_room() { None } else { Self::of_running(core) };
        }
        Self::parse(&root.text(&format!("/cpuid/cpu{core}"))?)
    }

    /// Those of a core of the running machine.
    pub fn of_running(core: u32) -> Option<Self> {
        // Kinds of cores of one processor answer differently, so a thread asks where the answer is wanted.
        let ask = || {
            crate::schedule::pin(core).ok()?;
            native()
        };
        crate::thread::apart("cpuid", ask).ok()??
    }

    /// Reads the form of `cpuid -r`; other lines are skipped.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        let line = |line: &str| {
            let (at, values) = line.trim().split_once(':')?;
            let (leaf, subleaf) = at.split_once(' ')?;
            let mut found = [0; 4];
            for (name, value) in values.split_whitespace().filter_map(|word| word.split_once('=')) {
                let i = ["eax", "ebx", "ecx", "edx"].iter().position(|register| *register == name)?;
                found[i] = hex(value)?;
            }
            let [eax, ebx, ecx, edx] = found;
            Some(((hex(leaf)?, hex(subleaf)?), CpuIdResult { eax, ebx, ecx, edx }))
        };
        let leaves: BTreeMap<_, _> = text.lines().filter_map(line).collect();
        (!leaves.is_empty()).then_some(Self(leaves))
    }

    /// Sets a leaf: EAX, EBX, ECX, EDX.
    pub fn set(&mut self, leaf: u32, subleaf: u32, [eax, ebx, ecx, edx]: [u32; 4]) {
        self.0.insert((leaf, subleaf), CpuIdResult { eax, ebx, ecx, edx });
    }

    /// A leaf; all zero where it was not recorded, as processors answer for leaves that they lack.
    pub fn get(&self, leaf: u32, subleaf: u32) -> CpuIdResult {
        self.0.get(&(leaf, subleaf)).copied().unwrap_or(CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 })
    }

    /// Whether a leaf was recorded: one that is absent says nothing, unlike one that is all zero.
    pub fn has(&self, leaf: u32, subleaf: u32) -> bool {
        self.0.contains_key(&(leaf, subleaf))
    }

    /// For a decoder.
    pub fn decoder(&self) -> CpuId<impl raw_cpuid::CpuIdReader + use<>> {
        let leaves = self.clone();
        CpuId::with_cpuid_reader(move |leaf, subleaf| leaves.get(leaf, subleaf))
    }
}

impl fmt::Display for Leaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((leaf, subleaf), CpuIdResult { eax, ebx, ecx, edx }) in &self.0 {
            writeln!(
                f,
                "0x{leaf:08x} 0x{subleaf:02x}: eax=0x{eax:08x} ebx=0x{ebx:08x} ecx=0x{ecx:08x} edx=0x{edx:08x}"
            )?;
        }
        Ok(())
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
fn native() -> Option<Leaves> {
    None
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
fn native() -> Option<Leaves> {
    Some(Leaves::ask(raw_cpuid::native_cpuid::cpuid_count))
}

impl Leaves {
    /// Asks for everything but the serial number.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "x86", test)), expect(dead_code))]
    fn ask(cpuid: impl Fn(u32, u32) -> CpuIdResult) -> Self {
        let mut leaves = BTreeMap::new();
        for first in [0, HYPERVISOR, EXTENDED] {
            let last = cpuid(first, 0).eax;
            if !(first..first + 0x100).contains(&last) {
                continue;
            }
            for leaf in (first..=last).filter(|leaf| *leaf != SERIAL_NUMBER) {
                for subleaf in subleaves(leaf, &cpuid) {
                    leaves.insert((leaf, subleaf), cpuid(leaf, subleaf));
                }
            }
        }
        Self(leaves)
    }
}

/// The subleaves that a leaf has (Intel SDM, volume 2, CPUID; AMD64 APM, volume 3, appendix E).
fn subleaves(leaf: u32, cpuid: &impl Fn(u32, u32) -> CpuIdResult) -> Vec<u32> {
    let until = |done: &dyn Fn(CpuIdResult) -> bool| {
        (0..MOST_SUBLEAVES).take_while(|subleaf| *subleaf == 0 || !done(cpuid(leaf, *subleaf))).collect()
    };
    match leaf {
        // Cache parameters, until a type of none.
        0x4 | 0x8000_001d => until(&|result| result.eax & 0x1f == 0),
        // EAX of the first has the number of the last.
        0x7 | 0x14 | 0x17 | 0x18 | 0x1d | 0x20 | 0x23 => (0..=cpuid(leaf, 0).eax.min(MOST_SUBLEAVES)).collect(),
        // Topology, until a level of none.
        0xb | 0x1f | 0x8000_0026 => until(&|result| result.ecx >> 8 & 0xff == 0),
        0xf => vec![0, 1],
        // Resource allocation: identifiers 1 to 5 as bits of EBX.
        0x10 => std::iter::once(0).chain((1..32).filter(|bit| cpuid(leaf, 0).ebx >> bit & 1 == 1)).collect(),
        0x8000_0020 => (0..=5).collect(),
        _ => vec![0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_cpuid_r_is_read_and_written() {
        let text = "CPU 0:\n   0x00000004 0x01: eax=0x1c004122 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000\n";
        let leaves = Leaves::parse(text).unwrap();
        assert_eq!(leaves.get(4, 1).ebx, 0x01c0_003f);
        assert_eq!(leaves.get(4, 2).eax, 0);
        assert_eq!(
            leaves.to_string(),
            "0x00000004 0x01: eax=0x1c004122 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000\n"
        );
        assert_eq!(Leaves::parse("nothing"), None);
    }

    #[test]
    fn the_serial_number_is_not_asked_for() {
        let leaves = Leaves::ask(|leaf, subleaf| match (leaf, subleaf) {
            (0, _) => CpuIdResult { eax: 4, ebx: 0, ecx: 0, edx: 0 },
            (3, _) => panic!("the serial number was asked for"),
            (4, 0..=2) => CpuIdResult { eax: 1, ebx: 7, ecx: 0, edx: 0 },
            _ => CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 },
        });
        let asked: Vec<_> = leaves.0.keys().copied().collect();
        assert_eq!(asked, [(0, 0), (1, 0), (2, 0), (4, 0), (4, 1), (4, 2)]);
    }
}
