//! Compiles the C kernels: always with the same flags, so that a debug build runs the release build's object code.

/// Also read by `rigs/aarch64/build`. No libc is called, and one access of the source is one access of the machine.
const FLAGS: &str = include_str!("c/flags");

const SOURCES: [&str; 9] = [
    "c/buffer.c",
    "c/chase.c",
    "c/entry.c",
    "c/layout.c",
    "c/random.c",
    "c/recorder.c",
    "c/sled.c",
    "c/tick.c",
    "c/walk.c",
];

fn main() {
    println!("cargo::rerun-if-changed=c");
    let mut build = cc::Build::new();
    build.files(SOURCES).opt_level(2).force_frame_pointer(false);
    for flag in FLAGS.lines() {
        // A compiler that lacks the optimization has no flag to turn it off.
        build.flag_if_supported(flag);
    }
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("arm") {
        // ARM instructions, not Thumb's: those of 4 bytes that the line of adds and the arena of returns are made of.
        build.flag("-marm");
    }
    build.compile("waykeeper_kernels_c");
}
