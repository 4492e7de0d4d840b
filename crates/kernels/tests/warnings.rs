//! The C kernels compile without a warning. (`rigs/aarch64/build` asks the same of the cross compiler.)

use std::process::Command;
use std::{env, fs};

#[test]
fn the_c_kernels_compile_without_a_warning() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/c");
    let flags = fs::read_to_string(format!("{sources}/flags")).unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut compiled = 0;
    for entry in fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "c") {
            let mut command = Command::new(&compiler);
            command.args(flags.lines()).args(["-Werror", "-pedantic", "-c", "-o", "/dev/null"]).arg(&path);
            let output = command.output().unwrap_or_else(|error| panic!("{compiler} cannot be started: {error}"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            compiled += 1;
        }
    }
    assert!(compiled > 0, "no C files in {sources}");
}
