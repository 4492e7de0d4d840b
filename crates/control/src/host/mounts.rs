//! The table of mounts.

use waykeeper_policy::MountSettings;

/// The options of resctrl at a directory; `Err` names the directory where it is mounted elsewhere only.
pub(super) fn resctrl_at(table: &str, directory: &str) -> Result<Option<MountSettings>, String> {
    let mut elsewhere = None;
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, at, kind @ ("resctrl" | "fuse.resctrl"), options, ..] = words[..] else { continue };
        if at == directory {
            let has = |name| options.split(',').any(|option| option == name);
            return Ok(Some(MountSettings { cdp: has("cdp"), cdp_l2: has("cdpl2"), mbps: has("mba_MBps") }));
        }
        // Any user can mount something of his own that calls itself so; it takes nothing from the kernel's.
        elsewhere = elsewhere.or((kind == "resctrl").then(|| at.to_owned()));
    }
    elsewhere.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words() {
        let table = "proc /proc proc rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,relatime,cdp,mba_MBps 0 0\n";
        let settings = MountSettings { cdp: true, cdp_l2: false, mbps: true };
        assert_eq!(resctrl_at(table, "/sys/fs/resctrl"), Ok(Some(settings)));
        assert_eq!(resctrl_at(table, "/elsewhere"), Err("/sys/fs/resctrl".into()));
        assert_eq!(resctrl_at("x /home/u/x fuse.resctrl rw,user_id=1000 0 0\n", "/sys/fs/resctrl"), Ok(None));
        assert_eq!(resctrl_at("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/sys/fs/resctrl"), Ok(None));
    }
}
