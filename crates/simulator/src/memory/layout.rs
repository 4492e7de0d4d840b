//! Where lines lie: channel, bank and row.
//!
//! From the lowest address bits up: the line in a piece of a channel, the channel, the line in a row, the bank, the rank,
//! the row. Rows are numbered through all banks of a channel, so that a row's number determines its bank too.

use crate::line::Line;

/// How many lines lie where. All counts are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Channels.
    pub channels: usize,
    /// Consecutive lines in one channel.
    pub channel_lines: u32,
    /// Whether the channel is the exclusive or of all address bits above the piece, taken in groups, rather than the
    /// lowest of them.
    pub channel_hash: bool,
    /// Ranks of a channel.
    pub ranks: usize,
    /// Banks of a rank.
    pub banks: usize,
    /// Whether bank and rank are changed by the lowest bits of the row (exclusive or).
    pub bank_hash: bool,
    /// Lines of a row.
    pub row_lines: u32,
    /// Where check bits lie among the data.
    pub checks: Checks,
    /// Lines of data in each channel.
    pub lines: u64,
}

/// Where check bits lie that travel as lines of their own. A line of them covers eight lines of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// There are none, or they travel beside the data.
    Nowhere,
    /// In the last eighth of the row whose data they cover.
    SameRow,
    /// Behind all data.
    BehindData,
}

/// Lines of data that a line of check bits covers: 8 bits for each 64.
pub const COVERED: u32 = 8;

/// Place of a line in its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankRow {
    /// Bank, counted through all ranks: rank x banks + bank.
    pub bank: usize,
    /// Row, counted through all banks.
    pub row: u32,
}

/// Where lines lie that follow each other row by row.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// log2 of the lines of a row.
    row: u32,
    /// Where the bits of a row begin that change its bank; above all of them if none do.
    above: u32,
    /// The banks of a channel, less one.
    mask: u32,
}

impl Steps {
    /// The place of a line in its channel.
    #[inline(always)]
    pub fn place(self, line: Line) -> BankRow {
        let row = line.block(self.row);
        let above = (u64::from(row) >> self.above) as u32;
        BankRow { bank: ((row ^ above) & self.mask) as usize, row }
    }
}

impl Layout {
    /// Banks of a channel, over all ranks.
    pub fn all_banks(&self) -> usize {
        self.ranks * self.banks
    }

    /// The channel of a line, and its number there.
    #[inline]
    pub fn channel(&self, line: Line) -> (usize, Line) {
        if self.channels == 1 {
            return (0, line);
        }
        let (piece_bits, bits) = (self.channel_lines.trailing_zeros(), self.channels.trailing_zeros());
        let piece = line.block(piece_bits);
        let channel = piece ^ self.hash_of(piece >> bits);
        let within = line.bits(self.channel_lines - 1);
        (channel as usize & (self.channels - 1), Line::new((piece >> bits) << piece_bits | within))
    }

    /// The line with that number in a channel.
    pub fn line(&self, channel: usize, in_channel: Line) -> Line {
        let (piece_bits, bits) = (self.channel_lines.trailing_zeros(), self.channels.trailing_zeros());
        let above = in_channel.block(piece_bits);
        let lowest = (channel as u32 ^ self.hash_of(above)) & (self.channels as u32 - 1);
        Line::new((above << bits | lowest) << piece_bits | in_channel.bits(self.channel_lines - 1))
    }

    /// What a hash of the bits above the channel's does to those: its lowest bits count.
    fn hash_of(&self, mut above: u32) -> u32 {
        let (bits, mut hash) = (self.channels.trailing_zeros(), 0);
        while self.channel_hash && bits > 0 && above != 0 {
            hash ^= above;
            above >>= bits;
        }
        hash
    }

    /// What the places of lines of data follow from, if check bits do not lie among them.
    pub fn steps(&self) -> Option<Steps> {
        let (row, banks) = (self.row_lines.trailing_zeros(), self.all_banks());
        let above = if self.bank_hash { banks.trailing_zeros() } else { u32::BITS };
        (self.checks != Checks::SameRow).then_some(Steps { row, above, mask: banks as u32 - 1 })
    }

    /// The place of a line in its channel.
    #[inline]
    pub fn place(&self, line: Line) -> BankRow {
        let row = match self.checks {
            Checks::SameRow => line.number() / self.data_lines(),
            Checks::Nowhere | Checks::BehindData => line.block(self.row_lines.trailing_zeros()),
        };
        self.place_of_row(row)
    }

    /// The place of the check bits of a line of data.
    pub fn place_of_checks(&self, line: Line) -> BankRow {
        match self.checks {
            Checks::SameRow => self.place(line),
            Checks::Nowhere | Checks::BehindData => {
                let at = self.lines + u64::from(line.number() / COVERED);
                self.place_of_row((at >> self.row_lines.trailing_zeros()) as u32)
            }
        }
    }

    /// The number of the line of check bits of a line of data: no line of data has it.
    pub fn checks_of(&self, line: Line) -> Line {
        let number = line.number();
        let group = match self.checks {
            // A row holds whole groups and perhaps a smaller one at its end.
            Checks::SameRow => {
                let data = self.data_lines();
                number / data * data.div_ceil(COVERED) + number % data / COVERED
            }
            Checks::Nowhere | Checks::BehindData => number / COVERED,
        };
        Line::new(u32::MAX - group)
    }

    /// Lines of data in a row that holds its check bits too.
    fn data_lines(&self) -> u32 {
        (self.row_lines - self.row_lines / COVERED).max(1)
    }

    #[inline]
    fn place_of_row(&self, row: u32) -> BankRow {
        let mask = self.all_banks() - 1;
        let above = if self.bank_hash { row as usize >> self.all_banks().trailing_zeros() } else { 0 };
        BankRow { bank: (row as usize ^ above) & mask, row }
    }
}
