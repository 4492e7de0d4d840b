//! The dies of a channel: which row each bank has open, when commands are allowed, and the data bus.
//!
//! A transaction (precharge and activation if need be, then the column command) is placed as a whole when it begins. The
//! data bus is used in the order in which transactions begin, and so are the activations of a rank.

use crate::memory::layout::BankRow;
use crate::memory::parameters::{MemoryParameters, Timing};
use crate::memory::per_bank::PerBank;
use crate::memory::refresh::Refresh;
use crate::observe::counters::MemoryCounters;
use crate::time::Ps;

/// No row is open.
const CLOSED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Bank {
    open_row: u32,
    refreshes: u64,
    next_activation: Ps,
    next_precharge: Ps,
    next_column: Ps,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    next_activation: Ps,
    /// The last four activations plus tFAW, the next place to write.
    windows: [Ps; 4],
    window: usize,
    next_read: Ps,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bus {
    free: Ps,
    writes: bool,
    rank: usize,
}

/// The dies of a channel.
#[derive(Debug, Clone)]
pub struct Dram {
    timing: Timing,
    /// Whether anything limits a rank's commands beyond those of its banks.
    ranks_limit: bool,
    limits_activations: bool,
    banks: PerBank<Bank>,
    ranks: Vec<Rank>,
    rank_shift: u32,
    bus: Bus,
    /// The refreshes of its banks.
    pub(super) refresh: Refresh,
    /// Every command, for the checker of the tests.
    #[cfg(test)]
    pub log: Vec<super::tests::Command>,
}

impl Dram {
    /// Dies with all rows closed.
    pub fn new(of: &MemoryParameters) -> Self {
        let [next_activation, next_precharge, next_column] = [Ps::ZERO; 3];
        let bank = Bank { open_row: CLOSED, refreshes: 0, next_activation, next_precharge, next_column };
        let timing = of.timing;
        let limits_activations = timing.trrd > Ps::ZERO || timing.tfaw > Ps::ZERO;
        Self {
            ranks_limit: limits_activations || timing.twtr > Ps::ZERO,
            limits_activations,
            timing,
            banks: PerBank::all(&bank),
            ranks: vec![Rank::default(); of.layout.ranks],
            rank_shift: of.layout.banks.trailing_zeros(),
            bus: Bus::default(),
            refresh: Refresh::new(of.refresh, of.layout.banks),
            #[cfg(test)]
            log: Vec::new(),
        }
    }

    /// The open row of a bank, or a number that no row has: as far as the controller knows, which forgets refreshes until
    /// it uses the bank.
    #[inline]
    pub fn open_row(&self, bank: usize) -> u32 {
        self.banks[bank].open_row
    }

    /// When a bank can begin with a row.
    #[inline]
    pub fn ready(&self, place: BankRow, now: Ps) -> Ps {
        let bank = &self.banks[place.bank];
        let at = if bank.open_row == place.row { bank.next_column } else { bank.next_column.max(bank.next_precharge) };
        at.max(now)
    }

    /// When its refreshes and its rank let a bank begin that is ready at `now`: whoever begins before has the data bus from
    /// then on.
    #[inline(always)]
    pub fn allowed(&self, place: BankRow, write: bool, now: Ps) -> Ps {
        let now = self.refresh.free(place.bank, now);
        if !self.ranks_limit {
            return now;
        }
        let (bank, rank) = (&self.banks[place.bank], &self.ranks[place.bank >> self.rank_shift]);
        if bank.open_row == place.row {
            return if write { now } else { now.max(rank.next_read) };
        }
        let precharge = if bank.open_row == CLOSED { Ps::ZERO } else { self.timing.trp };
        let activation = if self.limits_activations { rank.earliest_activation() } else { Ps::ZERO };
        let column = if write { Ps::ZERO } else { rank.next_read.saturating_sub(self.timing.trcd) };
        now.max(activation.max(column).saturating_sub(precharge))
    }

    /// Opens the row if need be and moves one line over the bus; returns the end of the transfer.
    #[inline(always)]
    pub fn transfer(&mut self, place: BankRow, write: bool, now: Ps, counts: &mut MemoryCounters) -> Ps {
        let refreshed = self.refresh.catch_up(place.bank, now);
        counts.refreshes += refreshed.new;
        let timing = &self.timing;
        let rank_at = place.bank >> self.rank_shift;
        let (bank, rank) = (&mut self.banks[place.bank], &mut self.ranks[rank_at]);
        // A refresh leaves all rows closed, so nothing is to be precharged after it.
        let open = bank.open_row != CLOSED && bank.refreshes == refreshed.count;
        bank.refreshes = refreshed.count;
        let mut column = if open && bank.open_row == place.row {
            counts.row_hits += 1;
            refreshed.free
        } else {
            counts.row_misses += 1;
            let closed = if open { refreshed.free.max(bank.next_precharge) + timing.trp } else { refreshed.free };
            let mut activation = closed.max(bank.next_activation);
            if self.limits_activations {
                activation = activation.max(rank.earliest_activation());
                rank.activate(activation, timing);
            }
            #[cfg(test)]
            self.log.extend(super::tests::opening(place, open, activation, timing));
            bank.next_activation = activation + timing.trc;
            bank.next_precharge = bank.next_activation.saturating_sub(timing.trp);
            bank.open_row = place.row;
            activation + timing.trcd
        };
        let latency = if write { timing.cwl } else { timing.cl };
        if !write {
            column = column.max(rank.next_read);
        }
        let data = (column + latency).max(self.bus.ready(write, rank_at, timing));
        let end = data + timing.transfer;
        self.bus = Bus { free: end, writes: write, rank: rank_at };
        #[cfg(test)]
        self.log.push(super::tests::column(place, write, data - latency));
        bank.next_column = end - latency;
        if write && timing.twr > Ps::ZERO {
            bank.next_precharge = bank.next_precharge.max(end + timing.twr);
        } else if !write {
            bank.next_precharge = bank.next_precharge.max(data - latency + timing.trtp);
        }
        if write && timing.twtr > Ps::ZERO {
            rank.next_read = end + timing.twtr;
        }
        let closable = bank.next_precharge.max(if write { end } else { bank.next_column });
        self.refresh.busy(place.bank, closable + timing.trp);
        end
    }
}

impl Rank {
    #[inline]
    fn earliest_activation(&self) -> Ps {
        self.next_activation.max(self.windows[self.window])
    }

    #[inline]
    fn activate(&mut self, at: Ps, timing: &Timing) {
        self.next_activation = at + timing.trrd;
        self.windows[self.window] = at + timing.tfaw;
        self.window = (self.window + 1) % self.windows.len();
    }
}

impl Bus {
    #[inline]
    fn ready(&self, write: bool, rank: usize, timing: &Timing) -> Ps {
        self.free + if write != self.writes || rank != self.rank { timing.turnaround } else { Ps::ZERO }
    }
}
