//! What accesses want of the hierarchy, and what it answers.

/// What an access wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Data to read.
    Read,
    /// Data to change.
    Write,
    /// Data to read, and then to change: what a line in flight is wanted for that a load and a store wait for.
    Update,
    /// Instructions.
    Fetch,
    /// Data to bring to this level, 1 to 3, and no further in.
    Prefetch {
        /// The level.
        level: u8,
    },
    /// A descriptor for a page walk, which looks into caches from the core's walk level on.
    Walk,
    /// A line to be written in full, to the level that the core streams to, without being read.
    Stream,
}

impl Want {
    /// Whether the line is changed.
    #[inline]
    pub fn is_store(self) -> bool {
        matches!(self, Self::Write | Self::Stream | Self::Update)
    }

    /// What a line in flight is wanted for once a further access of its core waits for it. A store changes the line
    /// where the others want it.
    pub fn joined(self, further: Self) -> Self {
        match (self, further) {
            (Self::Write, Self::Write) => Self::Write,
            (Self::Update, _) | (_, Self::Write | Self::Stream | Self::Update) | (Self::Write, Self::Read) => {
                Self::Update
            }
            (Self::Prefetch { .. } | Self::Walk | Self::Stream, Self::Read | Self::Fetch) => further,
            _ => self,
        }
    }
}

/// Where an access was answered, or why it was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// First level.
    L1,
    /// Private second level.
    L2,
    /// Shared cache of this level.
    Shared(u8),
    /// The on-chip RAM, which only first levels cache.
    OnChip,
    /// Another core's cache.
    OtherCore,
    /// Nowhere: the entries are taken, and [`fill`](crate::caches::hierarchy::Hierarchy::fill) must follow when memory has answered.
    Memory,
    /// The line is already in flight.
    InFlight,
    /// Every entry of a filter's set waits for a fill: of a shared cache's filter (0) or the interconnect's (1).
    Busy(u8),
    /// A store that needs no answer: a cache has taken it, or it is among the writes to memory.
    Sent,
}

impl Answer {
    /// Whether a prefetch to this level that got this answer brings its line nearer.
    pub fn brings_nearer(self, level: u8) -> bool {
        match self {
            Self::L2 => level == 1,
            Self::Shared(held) => held > level,
            Self::OtherCore | Self::OnChip | Self::Memory => true,
            Self::L1 | Self::InFlight | Self::Busy(_) | Self::Sent => false,
        }
    }
}
