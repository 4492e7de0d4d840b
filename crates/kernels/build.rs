//! Compiles the C kernels: always with the same flags, so that a debug build runs the release build's object code.

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
    cc::Build::new()
        .files(SOURCES)
        .opt_level(2)
        .force_frame_pointer(false)
        .warnings(true)
        .extra_warnings(true)
        .std("c11")
        .flag("-Wconversion")
        // Also in rigs/aarch64/flags: no libc is called, and one access of the source is one access of the machine.
        .flag("-ffreestanding")
        .flag("-fno-builtin")
        .flag("-fno-stack-protector")
        .flag("-fno-tree-vectorize")
        .flag("-fno-unroll-loops")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        .compile("waykeeper_kernels_c");
}
