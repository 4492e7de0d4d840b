//! One record of a trace.

/// What a record stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A load and a store of the same place by one instruction.
    Modify,
    /// The first instruction that is fetched from a block of code; see [`CODE_BLOCK`](crate::CODE_BLOCK).
    Fetch,
}

impl RecordKind {
    /// All kinds, in the order of their numbers in a file.
    pub const ALL: [Self; 4] = [Self::Load, Self::Store, Self::Modify, Self::Fetch];

    pub(crate) fn number(self) -> usize {
        self as usize
    }
}

/// One access of a program, and how many instructions without a record of their own ran before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Address in the recorded process.
    pub address: u64,
    /// Instructions since the record before that touched no memory. A fetch is no instruction by itself: the one that is
    /// fetched counts with its accesses, or in a later gap.
    pub gap: u64,
    /// Bytes touched, 1 or more.
    pub bytes: u32,
    /// What it does.
    pub kind: RecordKind,
    /// A later address is made from its value, so whatever follows has to wait for it. Only programs that are recorded
    /// from inside know that; elsewhere it is false.
    pub dependent: bool,
}
