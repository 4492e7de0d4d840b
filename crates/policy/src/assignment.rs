//! A policy resolved for one machine: class by class the masks and limits.

mod controls;

use serde::Serialize;
use waykeeper_platform::CoreId;

use crate::mask::Mask;
use crate::membership::Member;
use crate::step::MountSettings;

pub use controls::{
    AssignedClock, AssignedColours, AssignedControls, AssignedLockdown, AssignedPriority, AssignedStride, ColourShare,
};

/// A policy resolved for one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assignment {
    /// The policy's name.
    pub policy: String,
    /// The policy's title.
    pub title: String,
    /// How the machine is called in sentences.
    pub machine: String,
    /// The classes; the first is everyone else.
    pub classes: Vec<AssignedClass>,
    /// Memory that is locked into a cache.
    pub locks: Vec<AssignedLock>,
    /// What they have beside ways and limits of bandwidth.
    pub controls: AssignedControls,
    /// How resctrl has to be mounted, where it is used.
    pub mount: MountSettings,
    /// Caches that are divided.
    pub divided: Vec<DividedCache>,
    /// What was rounded, and what a reader should know besides.
    pub notes: Vec<String>,
    /// What still reaches the classes.
    pub leaves_open: Vec<Gap>,
}

/// A class and what it has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssignedClass {
    /// Its number: CLOS 0 is everyone else.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its cores; of everyone else: all that no class names.
    pub cores: Vec<CoreId>,
    /// Its tasks.
    pub members: Vec<Member>,
    /// Its masks.
    pub masks: Vec<AssignedMask>,
    /// Its limits of bandwidth.
    pub limits: Vec<AssignedLimit>,
}

/// A mask of a class in one cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssignedMask {
    /// Level of the cache.
    pub level: u8,
    /// The cache's id.
    pub domain: u32,
    /// Which accesses it is for.
    pub access: CdpType,
    /// The mask.
    pub mask: Mask,
    /// Whether nobody else fills these ways.
    pub exclusive: bool,
    /// Whether a core of the class uses this cache.
    pub used: bool,
}

/// The accesses that a mask is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CdpType {
    /// All.
    All,
    /// Instruction fetches (CDP).
    Code,
    /// Everything else (CDP).
    Data,
}

/// A limit of bandwidth in one domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssignedLimit {
    /// The domain's id.
    pub domain: u32,
    /// The limit, in the machine's unit.
    pub value: u32,
    /// The limit for people.
    pub text: String,
}

/// Memory that is locked into a cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssignedLock {
    /// Its name.
    pub name: String,
    /// Level of the cache.
    pub level: u8,
    /// The cache's id.
    pub domain: u32,
    /// The cores of that cache: those that programs with the memory run on.
    pub cores: Vec<CoreId>,
    /// The ways that hold it.
    pub mask: Mask,
    /// How much it is.
    pub size_bytes: u64,
}

/// A cache that is divided: what a picture of it needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DividedCache {
    /// Its level.
    pub level: u8,
    /// Its id.
    pub domain: u32,
    /// The cores that use it.
    pub cores: Vec<CoreId>,
    /// Bits in a mask.
    pub bits: u32,
    /// Bytes.
    pub size_bytes: u64,
}

/// What the assignment cannot stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What is shared still.
    pub what: String,
    /// How that reaches the classes.
    pub why: String,
}

impl Assignment {
    /// A divided cache.
    pub fn cache(&self, level: u8, domain: u32) -> Option<&DividedCache> {
        self.divided.iter().find(|cache| cache.level == level && cache.domain == domain)
    }
}
