//! Files that are added to `platforms/` and `catalogue/` are noticed: the macro that compiles the folders in sees only those it
//! found before.

fn main() {
    println!("cargo::rerun-if-changed=../../platforms");
    println!("cargo::rerun-if-changed=../../catalogue");
}
