//! Whether a hypervisor is below: each architecture reports it in another place, or nowhere.

use crate::architecture::{architecture, value};
use crate::root::Root;

/// What is below the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Below {
    /// A hypervisor: its name, or `present` where it has none, and the place that names it with what stands there.
    Hypervisor(String, (String, String)),
    /// The machine itself: the place that shows it, and what stands there.
    Machine(String, String),
    /// Unknown; why, as half a sentence.
    Unknown(String),
}

const INFO: &str = "/proc/cpuinfo";
const TYPE: &str = "/sys/hypervisor/type";
const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";
const PRODUCT: &str = "/sys/class/dmi/id/product_name";
/// The STSI answers of IBM Z.
const SYSINFO: &str = "/proc/sysinfo";
const TREE: &str = "/sys/firmware/devicetree/base";

/// Words of DMI's vendor or product that a virtual machine alone has (the same that systemd's detection looks for).
const VIRTUAL: [&str; 14] = [
    "QEMU",
    "KVM",
    "VMware",
    "VMW",
    "innotek GmbH",
    "VirtualBox",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "Apple Virtualization",
    "Virtual Machine",
    "OpenStack",
    "Google Compute Engine",
];

/// Looks for a hypervisor.
pub fn below(root: &Root) -> Below {
    let dmi = [VENDOR, PRODUCT].map(|file| root.text(file).filter(|text| !text.is_empty()));
    if let Some(kind) = root.text(TYPE).filter(|text| !text.is_empty()) {
        return Below::Hypervisor(kind.clone(), (TYPE.into(), kind));
    }
    let Some(info) = root.text(INFO) else { return Below::Unknown(root.absence(INFO)) };
    let flags = info.lines().find(|line| line.starts_with("flags"));
    if flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")) {
        let name = dmi[0].clone().unwrap_or_else(|| "present".into());
        return Below::Hypervisor(name.clone(), (INFO.into(), format!("hypervisor: {name}")));
    }
    if let Some(found) = by_firmware(root, &info, &dmi) {
        return found;
    }
    match architecture(root).as_deref() {
        // The flag is the architecture's own: CPUID leaf 1 has a bit that is kept for it.
        Some("x86_64" | "i686") if flags.is_some() => Below::Machine(INFO.into(), "flags without `hypervisor`".into()),
        Some("x86_64" | "i686") => Below::Unknown(format!("{INFO} shows no flags")),
        Some("ppc64" | "ppc64le") if value(&info, "machine").is_some_and(|name| name.starts_with("PowerNV")) => {
            Below::Machine(INFO.into(), "machine: PowerNV".into())
        }
        _ => by_board(root, dmi),
    }
}

/// A hypervisor that firmware's tables report.
fn by_firmware(root: &Root, info: &str, dmi: &[Option<String>; 2]) -> Option<Below> {
    let found = |name: String, file: &str, text: &str| {
        Some(Below::Hypervisor(name, (file.to_owned(), text.trim_matches('\0').replace('\0', " "))))
    };
    // `VM00 Control Program: z/VM    6.4.0`, or the partition that PR/SM made of the machine.
    if let Some(text) = root.text(SYSINFO) {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
            line.map(|rest| rest.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        if let Some(name) = field("VM00 Control Program") {
            return found(name.clone(), SYSINFO, &format!("VM00 Control Program: {name}"));
        }
        if let Some(name) = field("LPAR Number") {
            return found("PR/SM".into(), SYSINFO, &format!("LPAR Number: {name}"));
        }
    }
    let node = format!("{TREE}/hypervisor/compatible");
    if let Some(text) = root.text(&node) {
        let name = text.split('\0').next().unwrap_or_default().to_owned();
        return found(name, &node, &text);
    }
    for file in ["compatible", "model"].map(|file| format!("{TREE}/{file}")) {
        if let Some(text) = root.text(&file).filter(|text| text.contains("qemu") || text.contains("dummy-virt")) {
            return found("QEMU".into(), &file, &text);
        }
    }
    // Every partition of POWER runs above PowerVM or KVM; the machine itself is PowerNV.
    if let Some(machine) = value(info, "machine").filter(|name| name.contains("pSeries")) {
        let name = if machine.contains("qemu") { "KVM or QEMU" } else { "PowerVM" };
        return found(name.into(), INFO, &format!("machine: {machine}"));
    }
    let virtual_words = |text: &String| VIRTUAL.iter().any(|word| text.contains(word));
    if let Some(at) = dmi.iter().position(|text| text.as_ref().is_some_and(virtual_words)) {
        let text = dmi[at].clone().unwrap_or_default();
        return found(dmi[0].clone().unwrap_or_else(|| text.clone()), [VENDOR, PRODUCT][at], &text);
    }
    let cloud = dmi[0].as_deref().is_some_and(|vendor| ["Amazon EC2", "DigitalOcean", "Hetzner"].contains(&vendor));
    let bare = dmi[1].as_deref().is_some_and(|product| product.contains(".metal"));
    if cloud && !bare {
        return found(dmi[0].clone().unwrap_or_default(), VENDOR, dmi[0].as_deref().unwrap_or_default());
    }
    None
}

/// Where the architecture has no sign of its own: a board that firmware describes, and every place that would tell
/// otherwise known to be absent.
fn by_board(root: &Root, dmi: [Option<String>; 2]) -> Below {
    let told = |file: String, text: String| (file, text.trim_matches('\0').to_owned());
    let model = format!("{TREE}/model");
    let board = match dmi {
        [Some(vendor), Some(product)] => Some(told(format!("{VENDOR}, product_name"), format!("{vendor} {product}"))),
        _ => root.text(&model).filter(|text| !text.is_empty()).map(|text| told(model, text)),
    };
    let looked_for = [TYPE, &format!("{TREE}/hypervisor/compatible")].iter().all(|file| root.is_absent(file));
    match board {
        Some((file, text)) if looked_for => Below::Machine(file, text),
        Some(_) => Below::Unknown(format!(
            "this architecture has no flag for a hypervisor, and whether {TYPE} is there is not known"
        )),
        None => Below::Unknown(format!(
            "this architecture has no flag for a hypervisor, and neither DMI ({VENDOR}) nor a device tree ({TREE}) shows one"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Recording;

    const ARM: &str = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n";
    const Z: &str = "vendor_id       : IBM/S390\n";
    const LOONGSON: &str = "CPU Family\t: Loongson-64bit\nModel Name\t: Loongson-3A5000\n";

    fn of(files: &[(&str, &str)]) -> Below {
        let mut recording = Recording::default();
        for (path, text) in files {
            recording.set(path, *text);
        }
        below(&Root::from(recording))
    }

    #[track_caller]
    fn named(files: &[(&str, &str)], expected: &str) {
        match of(files) {
            Below::Hypervisor(name, _) => assert_eq!(name, expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn guests_of_every_architecture_are_found() {
        named(&[(INFO, ARM), (VENDOR, "QEMU"), (PRODUCT, "KVM Virtual Machine")], "QEMU");
        named(&[(INFO, ARM), (PRODUCT, "KVM Virtual Machine")], "KVM Virtual Machine");
        named(&[(INFO, ARM), (VENDOR, "Amazon EC2"), (PRODUCT, "c7g.large")], "Amazon EC2");
        named(&[(INFO, ARM), (&format!("{TREE}/compatible"), "linux,dummy-virt\0")], "QEMU");
        named(&[(INFO, ARM), (&format!("{TREE}/hypervisor/compatible"), "xen,xen-4.17\0xen,xen\0")], "xen,xen-4.17");
        named(&[(INFO, LOONGSON), (VENDOR, "QEMU")], "QEMU");
        named(&[(INFO, Z), (SYSINFO, "LPAR Number:          3\nVM00 Control Program: KVM/Linux\n")], "KVM/Linux");
        named(&[(INFO, Z), (SYSINFO, "VM00 Control Program: z/VM    6.4.0\n")], "z/VM 6.4.0");
        named(&[(INFO, Z), (SYSINFO, "LPAR Number:          12\n")], "PR/SM");
        named(&[(INFO, "cpu\t: POWER9\nmachine\t\t: CHRP IBM pSeries (emulated by qemu)\n")], "KVM or QEMU");
        named(&[(INFO, "vendor_id : GenuineIntel\nflags : fpu\n"), (TYPE, "xen")], "xen");
    }

    #[test]
    fn no_sign_is_no_evidence_where_the_architecture_has_none() {
        for info in [ARM, Z, LOONGSON, "hart : 0\nisa : rv64imafdc\n", "vendor_id : GenuineIntel\n"] {
            assert!(matches!(of(&[(INFO, info)]), Below::Unknown(_)), "{info}");
        }
        // A folder without manifest may lack what would tell.
        assert!(matches!(of(&[(INFO, ARM), (VENDOR, "Ampere"), (PRODUCT, "Altra")]), Below::Unknown(_)));
    }

    #[test]
    fn machines_are_known_by_what_they_show() {
        let manifest = "format = 1\nmade_by = \"test\"\narchitecture = \"aarch64\"\n";
        let board = [("manifest.toml", manifest), (INFO, ARM), (VENDOR, "Amazon EC2"), (PRODUCT, "c7g.metal")];
        assert!(matches!(of(&board), Below::Machine(..)));
        let intel = of(&[(INFO, "vendor_id : GenuineIntel\nflags : fpu lm\n")]);
        assert_eq!(intel, Below::Machine(INFO.into(), "flags without `hypervisor`".into()));
        assert!(matches!(of(&[(INFO, "cpu : POWER9\nmachine : PowerNV 9006\n")]), Below::Machine(..)));
    }
}
