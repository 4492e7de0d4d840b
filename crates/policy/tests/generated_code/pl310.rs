//! A small model of a PL310 behind a Cortex-A9: what is filled where, by the rules of lockdown.

use std::collections::{BTreeMap, BTreeSet};

pub const WAYS: usize = 8;
pub const LINE: u32 = 32;
pub const SETS: u32 = 2048;
pub const PAGE: u32 = 0x10_0000;

/// Who asks: data or instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Data,
    Instructions,
}

/// The machine, as far as locking sees it.
pub struct Machine {
    /// Line numbers by set and way.
    pub cache: Vec<[Option<u32>; WAYS]>,
    /// Locked ways by master, data and instructions.
    pub locked: [[u32; 8]; 2],
    /// Prefetch control of the second level.
    pub prefetch: u32,
    /// Auxiliary control of the core.
    pub actlr: u32,
    /// Lines in the first level of core 0.
    pub first_level: BTreeSet<u32>,
    cleaned: BTreeSet<u32>,
    /// Pages in ordinary TLB entries.
    pub tlb: BTreeSet<u32>,
    /// Pages in lockable entries.
    pub lockable: BTreeMap<u32, u32>,
    /// The TLB lockdown register.
    pub tlb_lockdown: u32,
    pub interrupts: bool,
    pub others_quiet: bool,
    random: u64,
}

impl Machine {
    /// A machine that has run for a while: every cache and TLB is full of something, the lines of `wanted` among it.
    pub fn busy(seed: u64, wanted: &BTreeSet<u32>, pages: &[u32]) -> Self {
        let mut machine = Self {
            cache: vec![[None; WAYS]; SETS as usize],
            locked: [[0; 8]; 2],
            prefetch: 0x3000_0000,
            actlr: 0x47,
            first_level: BTreeSet::new(),
            cleaned: BTreeSet::new(),
            tlb: pages.iter().copied().chain(0..64).collect(),
            lockable: BTreeMap::new(),
            tlb_lockdown: 0,
            interrupts: true,
            others_quiet: false,
            random: seed | 1,
        };
        for i in 0..20_000 {
            let line = machine.any_line();
            machine.request(line, Side::Data, i % 2);
        }
        for line in wanted {
            if machine.chance(2) {
                machine.request(*line, Side::Instructions, 0);
            }
            if machine.chance(3) {
                machine.first_level.insert(*line);
            }
        }
        machine
    }

    fn next(&mut self) -> u64 {
        // xorshift64 (Marsaglia, 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn chance(&mut self, of: u64) -> bool {
        self.next().is_multiple_of(of)
    }

    /// A line of the first 16 MiB.
    pub fn any_line(&mut self) -> u32 {
        (self.next() % (16 << 20) / u64::from(LINE)) as u32
    }

    /// What goes on beside the routine: its own instructions, interrupts, and the other core.
    pub fn noise(&mut self) {
        let own = 0x0070_0000 / LINE + (self.next() % 64) as u32;
        self.request(own, Side::Instructions, 0);
        if self.interrupts {
            let line = self.any_line();
            self.access(line * LINE);
            self.request(line, Side::Instructions, 0);
        }
        if !self.others_quiet {
            let line = self.any_line();
            self.request(line, Side::Data, 1);
            self.request(line, Side::Instructions, 1);
        }
    }

    /// A request at the second level.
    pub fn request(&mut self, line: u32, side: Side, master: usize) {
        self.fill(line, side, master);
        let on = if side == Side::Data { 1 << 28 } else { 1 << 29 };
        if self.prefetch & on != 0 {
            self.fill(line + 1, side, master);
        }
    }

    fn fill(&mut self, line: u32, side: Side, master: usize) {
        let set = (line % SETS) as usize;
        if self.cache[set].contains(&Some(line)) {
            return;
        }
        let locked = self.locked[usize::from(side == Side::Instructions)][master];
        let open: Vec<usize> = (0..WAYS).filter(|way| locked >> way & 1 == 0).collect();
        // Any open way, an empty one no sooner than another: which of them the controller takes is not to matter.
        if !open.is_empty() {
            let way = open[(self.next() % open.len() as u64) as usize];
            self.cache[set][way] = Some(line);
        }
    }

    /// A load of core 0.
    pub fn access(&mut self, address: u32) {
        let page = address / PAGE;
        if !self.tlb.contains(&page) && !self.lockable.values().any(|it| *it == page) {
            // The walk reads a descriptor through the second level.
            self.request((0x4000 + page * 4) / LINE, Side::Data, 0);
            match self.tlb_lockdown & 1 {
                1 => {
                    self.lockable.insert(self.tlb_lockdown >> 28 & 3, page);
                }
                _ => {
                    self.tlb.insert(page);
                }
            }
        }
        let line = address / LINE;
        if self.first_level.insert(line) {
            self.request(line, Side::Data, 0);
            // The core's own prefetcher.
            if self.actlr & 0x4 != 0 {
                self.request(line + 1, Side::Data, 0);
            }
        }
    }

    /// TLBIMVA.
    pub fn drop_page(&mut self, address: u32) {
        self.tlb.remove(&(address / PAGE));
        self.lockable.retain(|_, page| *page != address / PAGE);
    }

    /// DCCISW of 4 ways and 256 sets; all of it empties the first level.
    pub fn clean_first_level_line(&mut self, set_way: u32) {
        self.cleaned.insert(set_way & 0xc000_1fe0);
        if self.cleaned.len() == 1024 {
            self.first_level.clear();
            self.cleaned.clear();
        }
    }

    /// A write to a register of the second level.
    pub fn write(&mut self, offset: u32, value: u32) {
        match offset {
            0x7fc => {
                for set in &mut self.cache {
                    for (way, line) in set.iter_mut().enumerate() {
                        if value >> way & 1 == 1 {
                            *line = None;
                        }
                    }
                }
            }
            0x900..=0x93c => {
                let pair = (offset - 0x900) / 8;
                self.locked[((offset - 0x900) / 4 % 2) as usize][pair as usize] = value;
            }
            0xf60 => self.prefetch = value,
            0x730 => {}
            _ => panic!("a write to {offset:#x}"),
        }
    }

    /// Lines in the ways of a mask.
    pub fn lines_in(&self, ways: u32) -> BTreeSet<u32> {
        let of = |set: &[Option<u32>; WAYS]| {
            set.iter()
                .enumerate()
                .filter(|(way, _)| ways >> way & 1 == 1)
                .filter_map(|(_, line)| *line)
                .collect::<Vec<_>>()
        };
        self.cache.iter().flat_map(of).collect()
    }
}
