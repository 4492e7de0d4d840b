//! System-management interrupts, counted for some time.

use waykeeper_linux::Root;

use crate::register;

/// What was counted.
#[derive(Debug, Clone, PartialEq)]
pub enum Smis {
    /// System-management interrupts of each real-time core within a time.
    Counted {
        /// Core and count.
        counts: Vec<(u32, u64)>,
        /// How long it was counted, seconds.
        seconds: f64,
    },
    /// Why nothing was counted, as half a sentence.
    NotCounted(String),
}

/// Counts the system-management interrupts of cores while `wait` runs, which takes about `seconds`.
pub fn count_smis(root: &Root, cores: &[u32], seconds: f64, wait: impl FnOnce()) -> Smis {
    // The upper half of the register is reserved (Intel SDM vol. 4).
    let read = |core: &u32| register::read(root, *core, register::SMI_COUNT).map(|value| (*core, value as u32));
    let before: Result<Vec<_>, String> = cores.iter().map(read).collect();
    let before = match before {
        Ok(before) => before,
        Err(why) => return Smis::NotCounted(why),
    };
    wait();
    match cores.iter().map(read).collect::<Result<Vec<_>, String>>() {
        Ok(after) => {
            let added =
                before.iter().zip(&after).map(|((core, then), (_, now))| (*core, u64::from(now.wrapping_sub(*then))));
            Smis::Counted { counts: added.collect(), seconds }
        }
        Err(why) => Smis::NotCounted(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &std::path::Path, core: u32, count: u64) {
        std::fs::create_dir_all(folder.join("msr")).unwrap();
        std::fs::write(folder.join(format!("msr/cpu{core}")), format!("0x34 {count:#x}\n")).unwrap();
    }

    #[test]
    fn what_was_added_counts_also_over_the_end_of_32_bits() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        // 2^32 - 2 and then 3 is 5 more; the upper half is not counted.
        write(folder.path(), 2, 0xffff_fffe);
        write(folder.path(), 3, 0xdead_0000_0007);
        let counted = count_smis(&root, &[2, 3], 1.0, || {
            write(folder.path(), 2, 3);
            write(folder.path(), 3, 0xdead_0000_0007);
        });
        assert_eq!(counted, Smis::Counted { counts: vec![(2, 5), (3, 0)], seconds: 1.0 });
    }

    #[test]
    fn without_the_register_nothing_is_counted_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let counted = count_smis(&Root::at(folder.path()), &[0], 1.0, || panic!("there is nothing to wait for"));
        let Smis::NotCounted(why) = counted else { panic!("{counted:?}") };
        assert!(why.contains("0x34 of CPU 0 was not recorded"), "{why}");
    }
}
