//! What a recording leaves out, because it names a machine, a network or a person and says nothing about latency.

/// What is left out, in words: for the manifest and for people.
pub const LEFT_OUT: [&str; 6] = [
    "serial numbers and UUIDs of the machine, its boards and its processor (DMI, CPUID leaf 3, /proc/cpuinfo)",
    "host name, and who built the kernel and where (/proc/version)",
    "network addresses: no file of the network is read, and addresses in the kernel's command line are removed",
    "names of disks, volumes and remote file systems: /proc/mounts keeps resctrl, hugetlbfs and cgroups only",
    "processes of users: of tasks only kernel threads, and none of resctrl's lists of tasks",
    "configuration space of PCI devices, which can hold serial numbers",
];

/// Parameters of the kernel whose values name disks, hosts or people.
const NAMING: [&str; 16] = [
    "root",
    "resume",
    "ip",
    "nfsroot",
    "nfsaddrs",
    "BOOT_IMAGE",
    "initrd",
    "hostname",
    "systemd.hostname",
    "cryptdevice",
    "rd.luks.uuid",
    "rd.luks.name",
    "rd.lvm.lv",
    "init",
    "netconsole",
    "cloud-init",
];

/// The text as it is kept; `None` for one that is left out as a whole.
pub(super) fn cleaned(path: &str, text: String) -> Option<String> {
    match path.trim_start_matches('/') {
        "proc/version" => Some(version(&text)),
        "proc/cmdline" => Some(command_line(&text)),
        "proc/cpuinfo" => Some(without(&text, |line| line.to_ascii_lowercase().starts_with("serial"))),
        "proc/mounts" => Some(without(&text, |line| {
            let fields: Vec<&str> = line.split(' ').collect();
            !matches!(
                fields[..],
                [_, _, "resctrl" | "hugetlbfs" | "cgroup" | "cgroup2", ..] | [_, "/sys/fs/resctrl", "fuse.resctrl", ..]
            )
        })),
        // Serial numbers, plants and names of partitions and guests stand between.
        "proc/sysinfo" => Some(without(&text, |line| {
            !["VM00 Control Program", "LPAR Number", "Type"].iter().any(|name| line.starts_with(name))
        })),
        "proc/swaps" => Some(swaps(&text)),
        path if path.ends_with("/tasks") || path.contains("serial") || path.ends_with("uuid") => None,
        _ => Some(text),
    }
}

/// A text for others: addresses and UUIDs, this machine's host name and this user's home folder are replaced.
pub fn nameless(text: &str) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let home = std::env::var("HOME").unwrap_or_default();
    without_names(text, &host, &home)
}

fn without_names(text: &str, host: &str, home: &str) -> String {
    // What stands in any text names nothing.
    let text = if home.len() > 1 { text.replace(home, "~") } else { text.to_owned() };
    let text = if host.len() > 2 && host != "localhost" { text.replace(host, "HOST") } else { text };
    let is_edge = |c: char| !c.is_ascii_alphanumeric();
    let word = |word: &str| {
        let address = |part: &str| names_something(part.trim_matches(is_edge));
        let parts = || word.split(['=', ',', '/', '@', '[', ']', '(', ')']);
        match parts().any(address) {
            false => word.to_owned(),
            true => parts()
                .filter(|part| address(part))
                .fold(word.to_owned(), |word, part| word.replace(part.trim_matches(is_edge), "REMOVED")),
        }
    };
    text.split_inclusive(char::is_whitespace).map(word).collect()
}

fn without(text: &str, dropped: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| !dropped(line)).map(|line| format!("{line}\n")).collect()
}

/// Release and build without builder and compiler.
fn version(text: &str) -> String {
    let text = text.trim();
    let Some(rest) = text.strip_prefix("Linux version ") else { return String::new() };
    let release = rest.split_whitespace().next().unwrap_or_default();
    let build = rest.find('#').map_or("", |at| &rest[at..]);
    format!("Linux version {release} {build}\n")
}

fn command_line(text: &str) -> String {
    let word = |word: &str| match word.split_once('=') {
        Some((key, _)) if NAMING.contains(&key) => format!("{key}=removed"),
        Some((key, value)) if names_something(value) => format!("{key}=removed"),
        None if names_something(word) => "removed".to_owned(),
        _ => word.to_owned(),
    };
    // What stands behind `--` is for the first program, and no parameter of the kernel.
    let (of_kernel, of_init) = text.split_once(" -- ").map_or((text, None), |(kernel, init)| (kernel, Some(init)));
    let words = of_kernel.split_whitespace().map(word).chain(of_init.map(|_| "-- removed".to_owned()));
    words.collect::<Vec<_>>().join(" ") + "\n"
}

/// UUIDs, MAC and IP addresses, by their shape; an IPv4 address may have a port.
fn names_something(value: &str) -> bool {
    let value = match value.rsplit_once(':') {
        Some((address, port)) if address.contains('.') && port.parse::<u16>().is_ok() => address,
        _ => value,
    };
    let pieces = |separator| value.split(separator).map(str::to_owned).collect::<Vec<_>>();
    let hex = |piece: &String| !piece.is_empty() && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (dashes, colons, dots) = (pieces('-'), pieces(':'), pieces('.'));
    let uuid = value.to_ascii_uppercase().contains("UUID=") || (dashes.len() == 5 && dashes.iter().all(hex));
    let mac = colons.len() >= 6 && colons.iter().take(6).all(|piece| hex(piece) && piece.len() <= 2);
    let ip = dots.len() == 4 && dots.iter().all(|piece| !piece.is_empty() && piece.parse::<u8>().is_ok());
    let ipv6 = colons.len() >= 3 && value.len() > 2 && value.parse::<std::net::Ipv6Addr>().is_ok();
    uuid || mac || ip || ipv6
}

/// The first column names a file or a disk.
fn swaps(text: &str) -> String {
    let line = |(i, line): (usize, &str)| match (i, line.split_once(char::is_whitespace)) {
        (0, _) | (_, None) => format!("{line}\n"),
        (_, Some((_, rest))) => format!("removed {}\n", rest.trim_start()),
    };
    text.lines().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(path: &str, text: &str) -> Option<String> {
        cleaned(path, text.to_owned())
    }

    #[test]
    fn builders_and_compilers_are_not_kept() {
        let text = "Linux version 6.12.5-rt7 (jane@build7) (gcc 14.2) #1 SMP PREEMPT_RT Mon Dec 16 10:00:00 UTC 2024\n";
        let expected = "Linux version 6.12.5-rt7 #1 SMP PREEMPT_RT Mon Dec 16 10:00:00 UTC 2024\n";
        assert_eq!(kept("/proc/version", text).as_deref(), Some(expected));
    }

    #[test]
    fn parameters_keep_their_names_and_lose_what_names_something() {
        let text = "BOOT_IMAGE=/vmlinuz root=UUID=0a1b isolcpus=2,3 x=c0ffee00-1111-2222-3333-444455556666 \
                    mac=52:54:00:12:34:56 rdinit=/x nohz_full=2,3 srv=10.0.2.15 irqaffinity=0 v=1.2.3 quiet\n";
        let expected = "BOOT_IMAGE=removed root=removed isolcpus=2,3 x=removed mac=removed rdinit=/x nohz_full=2,3 \
                        srv=removed irqaffinity=0 v=1.2.3 quiet\n";
        assert_eq!(kept("/proc/cmdline", text).as_deref(), Some(expected));
        let text = "quiet rdinit=/agent dns=fd00::53 -- --addr 0.0.0.0:2024 --user jane\n";
        assert_eq!(kept("/proc/cmdline", text).as_deref(), Some("quiet rdinit=/agent dns=removed -- removed\n"));
    }

    #[test]
    fn addresses_go_with_their_ports_and_what_only_looks_like_one_stays() {
        let text = "at 192.168.1.7:8080, [2001:db8::7]/64 and 0000:00:1f.3 in std::fmt at 12:30:05, 6.12.5-rt7\n";
        let expected = "at REMOVED, [REMOVED]/64 and 0000:00:1f.3 in std::fmt at 12:30:05, 6.12.5-rt7\n";
        assert_eq!(without_names(text, "", ""), expected);
    }

    #[test]
    fn texts_for_others_name_no_host_no_user_and_no_address() {
        let text = "build7: waykeeper run /home/jane/x.toml\n\tfrom 10.0.2.15, mac=52:54:00:12:34:56; 6.12.5-rt7 at 10:00:00\n";
        let expected = "HOST: waykeeper run ~/x.toml\n\tfrom REMOVED, mac=REMOVED; 6.12.5-rt7 at 10:00:00\n";
        assert_eq!(without_names(text, "build7", "/home/jane"), expected);
        assert_eq!(
            without_names(text, "", "/"),
            text.replace("10.0.2.15", "REMOVED").replace("52:54:00:12:34:56", "REMOVED")
        );
    }

    #[test]
    fn an_arm_boards_serial_number_goes() {
        let text = "processor\t: 0\nHardware\t: BCM2835\nSerial\t\t: 10000000abcdef01\nModel\t\t: Board\n";
        let expected = "processor\t: 0\nHardware\t: BCM2835\nModel\t\t: Board\n";
        assert_eq!(kept("/proc/cpuinfo", text).as_deref(), Some(expected));
    }

    #[test]
    fn mounts_of_disks_and_servers_go() {
        let text = "/dev/mapper/janes-root / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\n\
                    resctrl /sys/fs/resctrl resctrl rw,cdp 0 0\n";
        assert_eq!(kept("/proc/mounts", text).as_deref(), Some("resctrl /sys/fs/resctrl resctrl rw,cdp 0 0\n"));
        // Served from user space it is a machine's where the kernel's would be, and somebody's own elsewhere.
        let served = "x /sys/fs/resctrl fuse.resctrl rw 0 0\n";
        let text = format!("x /home/jane/r fuse.resctrl rw 0 0\n{served}");
        assert_eq!(kept("/proc/mounts", &text).as_deref(), Some(served));
        let swaps = "Filename\tType\tSize\n/dev/nvme0n1p3 partition\t8388604\n";
        assert_eq!(kept("/proc/swaps", swaps).as_deref(), Some("Filename\tType\tSize\nremoved partition\t8388604\n"));
    }

    #[test]
    fn serial_numbers_and_tasks_go_as_a_whole() {
        for path in ["/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/product_uuid", "/sys/fs/resctrl/a/tasks"] {
            assert_eq!(kept(path, "x"), None, "{path}");
        }
    }
}
