//! The architecture and the processor's name, as `/proc/cpuinfo` reports them: each architecture has keys of its own.

use crate::recording::{MANIFEST, Manifest};
use crate::root::Root;

/// The architecture, as `uname -m` reports it; `None` where unknown.
pub fn architecture(root: &Root) -> Option<String> {
    if let Some(manifest) = root.text(MANIFEST).and_then(|text| toml::from_str::<Manifest>(&text).ok()) {
        return Some(manifest.architecture);
    }
    if root.is_running() {
        return Some(rustix::system::uname().machine().to_string_lossy().into_owned());
    }
    of_info(&root.text("/proc/cpuinfo")?).map(str::to_owned)
}

/// From the keys that one architecture alone has (`show_cpuinfo` of each in the kernel's `arch`).
fn of_info(info: &str) -> Option<&'static str> {
    let value = |key: &str| value(info, key);
    let has = |key: &str| value(key).is_some();
    match () {
        () if value("vendor_id").is_some_and(|vendor| vendor.starts_with("IBM/S390")) => Some("s390x"),
        () if has("CPU implementer") => {
            // `half` is a flag of 32-bit kernels alone, which run on Armv8 too.
            let narrow = value("Features").is_some_and(|flags| flags.split(' ').any(|flag| flag == "half"));
            Some(match value("CPU architecture").as_deref() {
                Some("8") if narrow => "armv8l",
                Some("8" | "AArch64") | None => "aarch64",
                Some(_) => "armv7l",
            })
        }
        () if value("CPU Family").is_some_and(|family| family.starts_with("Loongson-64bit")) => Some("loongarch64"),
        () if has("isa") && has("hart") => match value("isa").is_some_and(|isa| isa.starts_with("rv32")) {
            true => Some("riscv32"),
            false => Some("riscv64"),
        },
        // The byte order stands nowhere in the file.
        () if value("cpu").is_some_and(|name| name.starts_with("POWER") || name.starts_with("PPC")) => Some("ppc64"),
        () if has("cpu model") && has("system type") => Some("mips"),
        () if value("cpu").is_some_and(|name| name.contains("Sparc") || name.contains("SPARC")) => Some("sparc64"),
        // Only 32-bit kernels have a line about this defect.
        () if has("vendor_id") && has("fdiv_bug") => Some("i686"),
        () if has("vendor_id") => Some("x86_64"),
        () => None,
    }
}

/// The value of a key of `/proc/cpuinfo`, the first one.
pub(crate) fn value(info: &str, key: &str) -> Option<String> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The processor's name.
pub(crate) fn processor(root: &Root) -> Option<String> {
    let info = root.text("/proc/cpuinfo")?;
    let value = |key: &str| value(&info, key);
    // x86 and some kernels of Arm; LoongArch; MIPS; the board of 32-bit Arm; RISC-V.
    let named = ["model name", "Model Name", "cpu model", "Hardware", "uarch"].into_iter().find_map(value);
    named.or_else(|| {
        let architecture = of_info(&info)?;
        match architecture {
            "ppc64" | "sparc64" => Some(value("cpu")?.split(',').next()?.trim().to_owned()),
            "s390x" => Some(format!("IBM Z, machine type {}", s390_machine(&info)?)),
            _ => None,
        }
    })
}

/// `processor 0: version = FF,  identification = 000000,  machine = 3906`.
fn s390_machine(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("processor ") && line.contains("machine ="))?;
    Some(line.rsplit_once("machine =")?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Recording;

    fn told(info: &str) -> (Option<String>, Option<String>) {
        let mut recording = Recording::default();
        recording.set("/proc/cpuinfo", info);
        let root = Root::from(recording);
        (architecture(&root), processor(&root))
    }

    #[test]
    fn every_architecture_has_its_own_keys() {
        let rows = [
            ("vendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t: fpu lm\n", "x86_64", Some("Xeon")),
            ("vendor_id\t: HygonGenuine\nmodel name\t: C86 7185\nflags\t: fpu lm\n", "x86_64", Some("C86 7185")),
            (
                "vendor_id       : IBM/S390\n# processors    : 2\nprocessor 0: version = FF,  identification = 000000,  machine = 3906\n",
                "s390x",
                Some("IBM Z, machine type 3906"),
            ),
            (
                "system type\t: generic-loongson-machine\nCPU Family\t: Loongson-64bit\nModel Name\t: Loongson-3A5000\nHardware Watchpoint\t: yes, iwatch count: 8\n",
                "loongarch64",
                Some("Loongson-3A5000"),
            ),
            ("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n", "aarch64", None),
            (
                "model name\t: ARMv7 Processor rev 4 (v7l)\nFeatures\t: half thumb\nCPU implementer\t: 0x41\nCPU architecture: 7\nHardware\t: BCM2835\n",
                "armv7l",
                Some("ARMv7 Processor rev 4 (v7l)"),
            ),
            (
                "processor\t: 0\nhart\t: 1\nisa\t: rv64imafdc\nmmu\t: sv39\nuarch\t: sifive,u74-mc\n",
                "riscv64",
                Some("sifive,u74-mc"),
            ),
            ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nmachine\t: PowerNV\n", "ppc64", Some("POWER9")),
            ("system type\t: MIPS Malta\ncpu model\t: MIPS 24Kc V0.0\n", "mips", Some("MIPS 24Kc V0.0")),
            ("cpu\t\t: UltraSparc T2 (Niagara2)\n", "sparc64", Some("UltraSparc T2 (Niagara2)")),
        ];
        for (info, architecture, processor) in rows {
            assert_eq!(told(info), (Some(architecture.into()), processor.map(str::to_owned)), "{info}");
        }
        assert_eq!(told("processor : 0\n"), (None, None));
    }
}
