//! Memory for workloads: small or huge pages, touched before use, or a device's.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::ptr;

use rustix::mm::{
    Advice, MapFlags, MlockAllFlags, MremapFlags, ProtFlags, madvise, mlockall, mmap, mmap_anonymous, mremap_fixed,
    munmap,
};

/// Pages of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The base page size, never merged into huge ones.
    Small,
    /// From the pool of reserved huge pages, else transparent huge pages.
    Huge,
    /// Whatever the kernel returns.
    Any,
}

/// 2 MiB: the huge page of x86-64, and of Arm with 4 KiB pages. Alignment only: a wrong guess costs nothing else.
pub(crate) const HUGE: usize = 2 << 20;

/// A mapping of this process, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: *mut libc::c_void,
    mapped: usize,
    start: *mut u8,
    length: usize,
    /// Whether it came from the pool of reserved huge pages.
    pub from_pool: bool,
}

// SAFETY: the mapping is plain memory that belongs to this value alone.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes (at least 1), aligned to 2 MiB, and writes to every page.
    ///
    /// # Errors
    /// Where the kernel has no memory to give.
    pub fn new(length: usize, pages: Pages) -> io::Result<Self> {
        Self::mapped(length, pages, pages == Pages::Huge)
    }

    /// The same without the pool of reserved huge pages: single pages of it can be moved.
    ///
    /// # Errors
    /// Where the kernel has no memory to give.
    pub(crate) fn unpooled(length: usize, pages: Pages) -> io::Result<Self> {
        Self::mapped(length, pages, false)
    }

    fn mapped(length: usize, pages: Pages, pooled: bool) -> io::Result<Self> {
        let whole = length.next_multiple_of(HUGE);
        let pool =
            pooled.then(|| map(whole, MapFlags::PRIVATE | MapFlags::HUGETLB | MapFlags::POPULATE)).and_then(Result::ok);
        let from_pool = pool.is_some();
        let (base, mapped) = match pool {
            Some(base) => (base, whole),
            None => (map(whole + HUGE, MapFlags::PRIVATE)?, whole + HUGE),
        };
        // SAFETY: aligning up stays within the mapping, which is one huge page longer than needed where it is unaligned.
        let start = unsafe { base.cast::<u8>().add(base.cast::<u8>().align_offset(HUGE)) };
        let mapping = Self { base, mapped, start, length: whole, from_pool };
        if !from_pool {
            mapping.advise(pages);
        }
        mapping.keep_from_forks();
        mapping.touch();
        Ok(mapping)
    }

    /// Maps the first `length` bytes (at least 1) of a file or device, such as a pseudo-locked region. The kernel hands a
    /// region only to a thread that may run nowhere but beside its cache.
    ///
    /// # Errors
    /// What the system answered.
    pub fn of_file(path: &Path, length: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = length.next_multiple_of(rustix::param::page_size());
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
        let base = unsafe { mmap(ptr::null_mut(), length, access, MapFlags::SHARED, &file, 0) }?;
        Ok(Self { base, mapped: length, start: base.cast(), length, from_pool: false })
    }

    /// Moves 4 KiB pages of it, named by their places, to a mapping of their own, in that order; the rest is given back. Each
    /// may be named once. Huge pages are taken apart, and their pieces stay where they are in physical memory.
    ///
    /// # Errors
    /// What the system answered; many thousand pages come to its limit of mappings (vm.max_map_count).
    pub(crate) fn side_by_side(self, pages: &[usize]) -> io::Result<Self> {
        const PAGE: usize = 4096;
        self.advise(Pages::Small);
        let length = pages.len() * PAGE;
        let base = map(length, MapFlags::PRIVATE)?;
        let beside = Self { base, mapped: length, start: base.cast(), length, from_pool: false };
        beside.keep_from_forks();
        for (place, page) in pages.iter().enumerate() {
            assert!(page * PAGE < self.length, "page {page} lies beyond the mapping");
            // The place that a page leaves stays mapped (DONTUNMAP): another thread's mapping must not come to lie there.
            // SAFETY: both pages lie within mappings of this function, to which nobody else has a pointer; what was at the
            // destination is gone, and was never used.
            unsafe {
                let (from, to) = (self.start.add(page * PAGE), beside.start.add(place * PAGE));
                mremap_fixed(from.cast(), PAGE, PAGE, MremapFlags::MAYMOVE | MremapFlags::DONTUNMAP, to.cast())?;
            }
        }
        Ok(beside)
    }

    fn advise(&self, pages: Pages) {
        let advice = match pages {
            Pages::Small => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
            Pages::Any => return,
        };
        // SAFETY: the range is this mapping's own. A kernel without huge pages refuses, and then pages are small:
        // `huge_bytes` reports what was got.
        let _ = unsafe { madvise(self.start.cast(), self.length, advice) };
    }

    /// A fork of this process does not get the pages. A shared page is copied when either side writes to it, so that a fork
    /// while workloads run would slow them, and take time by itself for their page tables.
    fn keep_from_forks(&self) {
        // SAFETY: the range is this mapping's own, and no child is asked to use it.
        let _ = unsafe { madvise(self.start.cast(), self.length, Advice::LinuxDontFork) };
    }

    fn touch(&self) {
        for offset in (0..self.length).step_by(4096) {
            // SAFETY: the offset lies within the mapping.
            unsafe { self.start.add(offset).write_volatile(0) };
        }
    }

    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Usable bytes: the length asked for, rounded up to 2 MiB.
    pub fn length(&self) -> usize {
        self.length
    }

    /// How many bytes of the mapping lie in huge pages, as `/proc/self/smaps` reports; `None` where it cannot be read.
    pub fn huge_bytes(&self) -> Option<u64> {
        if self.from_pool {
            return Some(self.length as u64);
        }
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let (from, to) = (self.start as u64, self.start as u64 + self.length as u64);
        let (mut inside, mut bytes) = (false, 0);
        for line in smaps.lines() {
            if let Some((start, end)) = address_range(line) {
                inside = start < to && end > from;
            } else if inside && line.starts_with("AnonHugePages:") {
                bytes += line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024;
            }
        }
        Some(bytes.min(self.length as u64))
    }
}

fn map(length: usize, flags: MapFlags) -> io::Result<*mut libc::c_void> {
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing that exists.
    Ok(unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags) }?)
}

fn address_range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping, and nothing borrows it any more.
        let _ = unsafe { munmap(self.base, self.mapped) };
    }
}

/// Locks everything that this process has mapped now into memory.
///
/// # Errors
/// More memory than RLIMIT_MEMLOCK allows, without CAP_IPC_LOCK.
pub fn lock_all() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT)?)
}

/// Memory that the kernel could give without swapping, bytes.
pub fn available(root: &crate::Root) -> Option<u64> {
    let meminfo = root.text("/proc/meminfo")?;
    let line = meminfo.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_mapped_and_not_changed_by_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mapping");
        std::fs::write(&path, [7; 8192]).unwrap();
        let mapping = Mapping::of_file(&path, 5000).unwrap();
        assert_eq!(mapping.length(), 8192);
        // SAFETY: both bytes lie within the mapping.
        unsafe {
            assert_eq!(mapping.start().add(8191).read_volatile(), 7);
            mapping.start().write_volatile(9);
        }
        drop(mapping);
        assert_eq!(std::fs::read(&path).unwrap()[..2], [9, 7]);
    }

    #[test]
    fn small_pages_are_small() {
        let mapping = Mapping::new(5 << 20, Pages::Small).unwrap();
        assert_eq!(mapping.length(), 6 << 20);
        assert_eq!(mapping.start() as usize % HUGE, 0);
        assert_eq!(mapping.huge_bytes(), Some(0));
    }

    #[test]
    fn a_fork_does_not_get_the_pages() {
        let whole = Mapping::new(4 << 20, Pages::Any).unwrap();
        let moved = Mapping::new(4 << 20, Pages::Small).unwrap().side_by_side(&[7, 3, 5]).unwrap();
        for (mapping, address) in [("as mapped", whole.start() as u64), ("moved", moved.start() as u64)] {
            let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let own = |line: &&str| address_range(line).is_some_and(|(from, to)| (from..to).contains(&address));
            let lines = smaps.lines().skip_while(|line| !own(line));
            let flags = lines.into_iter().find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
            assert!(flags.split_whitespace().any(|flag| flag == "dc"), "{mapping}: {flags}");
        }
    }
}
