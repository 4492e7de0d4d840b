//! Files that are added to `policies/` are noticed: the macro that compiles the folder in sees only those it found before.

fn main() {
    println!("cargo::rerun-if-changed=../../policies");
}
