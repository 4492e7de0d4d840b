//! The Debian packages that the rigs need.

use std::path::Path;
use std::process::Command;

use crate::step::run;

/// A program that a rig runs, and the package that has it.
const NEEDED: [(&str, &str); 16] = [
    ("cc", "gcc"),
    ("c++", "g++"),
    ("python3", "python3"),
    ("cyclictest", "rt-tests"),
    ("valgrind", "valgrind"),
    ("qemu-aarch64", "qemu-user"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
    ("setpriv", "util-linux"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("chromium", "chromium"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("busybox", "busybox"),
    ("mount", "mount"),
];

/// A file that a rig needs, and the package that has it.
const NEEDED_FILES: [(&str, &str); 3] = [
    ("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross"),
    ("/usr/include/stdio.h", "libc6-dev"),
    ("/usr/lib/python3/dist-packages/prometheus_client/parser.py", "python3-prometheus-client"),
];

/// What the kernel rig needs beside these, to build QEMU.
const NEEDED_BY_KERNEL_RIG: [(&str, &str); 10] = [
    ("cc", "gcc"),
    ("dpkg-source", "dpkg-dev"),
    ("make", "make"),
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("pkg-config", "pkg-config"),
    ("python3", "python3"),
    ("patch", "patch"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// Files that it needs.
const FILES_NEEDED_BY_KERNEL_RIG: [(&str, &str); 8] = [
    ("/usr/include/stdio.h", "libc6-dev"),
    ("/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"),
    ("/usr/share/seabios/bios-256k.bin", "seabios"),
    ("/usr/share/qemu", "qemu-system-data"),
    ("/usr/include/glib-2.0/glib.h", "libglib2.0-dev"),
    ("/usr/include/pixman-1/pixman.h", "libpixman-1-dev"),
    ("/usr/include/libfdt.h", "libfdt-dev"),
    ("/usr/include/zlib.h", "zlib1g-dev"),
];

/// What the clients in rooms need: the clients themselves.
const NEEDED_BY_CLIENTS_RIG: [(&str, &str); 5] = [
    ("pqos", "intel-cmt-cat"),
    ("rdtset", "intel-cmt-cat"),
    ("rdmsr", "msr-tools"),
    ("bash", "bash"),
    ("unshare", "util-linux"),
];

/// What packages are made and tried with.
const NEEDED_BY_PACKAGES: [(&str, &str); 11] = [
    ("musl-gcc", "musl-tools"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu"),
    ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
    ("arm-linux-gnueabihf-strip", "binutils-arm-linux-gnueabihf"),
    ("dpkg-deb", "dpkg"),
    ("debootstrap", "debootstrap"),
    ("systemd-analyze", "systemd"),
    ("readelf", "binutils"),
    ("unshare", "util-linux"),
    ("git", "git"),
];

/// Files that they need.
const FILES_NEEDED_BY_PACKAGES: [(&str, &str); 1] = [("/usr/arm-linux-gnueabihf/lib/libc.a", "libc6-dev-armhf-cross")];

/// What Arm guests run in and are made with.
const NEEDED_BY_ARM_RIG: [(&str, &str); 8] = [
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
    ("apt-cache", "apt"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("dpkg-deb", "dpkg"),
    ("ssh-keygen", "openssh-client"),
    ("readelf", "binutils"),
    ("xz", "xz-utils"),
];

/// Files that they need.
const FILES_NEEDED_BY_ARM_RIG: [(&str, &str); 3] = [
    ("/usr/arm-linux-gnueabihf/lib/libc.a", "libc6-dev-armhf-cross"),
    ("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross"),
    ("/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"),
];

/// The system's own Python: another one on the path has none of Debian's modules.
pub const PYTHON: &str = "/usr/bin/python3";

/// Modules of it that the Python package is built, checked and tried with, and the packages that have them.
const NEEDED_BY_PYTHON: [(&str, &str); 8] = [
    ("pandas", "python3-pandas"),
    ("matplotlib", "python3-matplotlib"),
    ("pytest", "python3-pytest"),
    ("setuptools", "python3-setuptools"),
    ("wheel", "python3-wheel"),
    ("ensurepip", "python3-venv"),
    ("mypy", "mypy"),
    ("yaml", "python3-yaml"),
];

/// Installs what is missing when it may, else names it.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide() -> Result<(), String> {
    install(missing(&NEEDED, &NEEDED_FILES))
}

/// The same for what the kernel rig needs.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide_for_kernel_rig() -> Result<(), String> {
    install(missing(&NEEDED_BY_KERNEL_RIG, &FILES_NEEDED_BY_KERNEL_RIG))
}

/// The same for what the clients in rooms need.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide_for_clients_rig() -> Result<(), String> {
    install(missing(&NEEDED_BY_CLIENTS_RIG, &[]))
}

/// The same for what packages are made and tried with.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide_for_packages() -> Result<(), String> {
    install(missing(&NEEDED_BY_PACKAGES, &FILES_NEEDED_BY_PACKAGES))
}

/// The same for Arm guests.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide_for_arm_rig() -> Result<(), String> {
    install(missing(&NEEDED_BY_ARM_RIG, &FILES_NEEDED_BY_ARM_RIG))
}

/// The same for the Python package.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide_for_python() -> Result<(), String> {
    let has = |module: &str| {
        // Without the present folder, whose folders would be modules.
        let find = "import sys; sys.path.pop(0); import importlib.util; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
        let status = Command::new(PYTHON).args(["-c", find, module]).status();
        status.is_ok_and(|status| status.success())
    };
    let modules = NEEDED_BY_PYTHON.iter().filter(|(module, _)| !has(module)).map(|(_, package)| *package);
    let python = missing(&[("curl", "curl")], &[(PYTHON, "python3")]);
    install(python.into_iter().chain(modules).collect())
}

/// Python with what makes its environments.
///
/// # Errors
/// Missing packages that could not be installed.
pub fn provide_python() -> Result<(), String> {
    let output = Command::new("python3").args(["-c", "import ensurepip"]).output();
    match output.is_ok_and(|output| output.status.success()) {
        true => Ok(()),
        false => install(vec!["python3", "python3-venv"]),
    }
}

fn install(missing: Vec<&str>) -> Result<(), String> {
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !is_root() || !on_path("apt-get") {
        return Err(format!("these packages are missing; as root: apt-get install {list}"));
    }
    let apt = |arguments: &str| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments.split_whitespace());
        command
    };
    run("package lists", &mut apt("update -qq"))?;
    run("packages", &mut apt(&format!("install -y -qq --no-install-recommends {list}")))
}

fn missing(programs: &[(&str, &'static str)], files: &[(&str, &'static str)]) -> Vec<&'static str> {
    let programs = programs.iter().filter(|(program, _)| !on_path(program)).map(|(_, package)| *package);
    let files = files.iter().filter(|(file, _)| !Path::new(file).exists()).map(|(_, package)| *package);
    programs.chain(files).collect()
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = [Path::new("/usr/sbin"), Path::new("/sbin")].map(Path::to_path_buf);
    std::env::split_paths(&path).chain(system).any(|folder| folder.join(program).exists())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
