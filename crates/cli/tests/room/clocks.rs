//! Clocks in a room: `apply` on a register file that answers as the processor's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::waykeeper;

/// Reads registers as `rdmsr` does; `everything` is what tcc-speed-shift may write.
const READERS: &str = "\
rd() { dd if=/dev/cpu/$1/msr ibs=8 count=1 skip=$(($2)) iflag=skip_bytes 2>/dev/null | od -An -tx8 | tr -d ' '; }
everything() { for cpu in $(seq 0 13); do rd $cpu 0x774; done; rd 0 0x620; }
plan() { \"$WK\" plan tcc-speed-shift --for i7-13800hre --as hwp --json > /run/plan.json; }
";

/// A script in a room of the 13800HRE; what it prints.
fn in_room(script: &str, shim: Option<&Path>) -> Vec<String> {
    let mut command = waykeeper(&["enter", "i7-13800hre", "--", "sh", "-c", &format!("{READERS}{script}")]);
    command.env("WK", env!("CARGO_BIN_EXE_waykeeper")).env("WAYKEEPER_STATE", "/run/waykeeper-state");
    command.envs(shim.map(|path| ("SHIM", path)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The guide's values, 5.3.3: two P-cores at 3.6 GHz, the ring at 4 GHz, the others at most at 2.5 and 1.8 GHz.
#[test]
fn the_guides_words_are_written_and_the_old_ones_come_back() {
    let script = "before=$(everything); plan; \"$WK\" apply --steps /run/plan.json > /run/said || cat /run/said; \
                  rd 4 0x774; rd 5 0x774; rd 0 0x620; rd 0 0x774; rd 6 0x774; rd 0 0x770; \
                  \"$WK\" verify --no-probe > /run/said || cat /run/said; \
                  \"$WK\" restore > /run/said || cat /run/said; test \"$(everything)\" = \"$before\" && echo back";
    let expected = [
        "f0000000002e2e2e",
        "f0000000002e2e2e",
        "0000000000002828",
        "f000000080002006",
        "f000000085001204",
        "0000000000000001",
        "back",
    ];
    assert_eq!(in_room(script, None), expected);
}

/// What the processor does not have or take is an error of the write, and what it has is read from the platform: 2.5 GHz
/// x 12.7 levels a GHz are 31.75, rounded up 0x20; 1.8 GHz of an E-core are 0x12.
#[test]
fn registers_answer_as_documented() {
    let script = "rd 0 0x771; rd 6 0x771; rd 0 0x774; \
                  wr() { printf $3 | dd of=/dev/cpu/$1/msr obs=8 seek=$(($2)) oflag=seek_bytes conv=notrunc 2>&1 | \
                  grep -o 'Input/output error'; }; \
                  wr 0 0x770 '\\002\\0\\0\\0\\0\\0\\0\\0'; wr 0 0x770 '\\0\\0\\0\\0\\0\\0\\0\\0'; rd 0 0x770; \
                  wr 0 0x771 '\\001\\0\\0\\0\\0\\0\\0\\0'; wr 0 0x620 '\\0\\0\\001\\0\\0\\0\\0\\0'; \
                  wr 3 0x620 '\\050\\050\\0\\0\\0\\0\\0\\0'; rd 9 0x620";
    let lines = in_room(script, None);
    let refused = "Input/output error";
    let expected = [
        "0000000001012020",
        "0000000001011212",
        "0000000080002001",
        refused,
        "0000000000000001",
        refused,
        refused,
        "0000000000002828",
    ];
    assert_eq!(lines, expected);
}

/// A library that kills its process in the place of its Nth write to a register. C, for it stands before libc's.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t pwrite64(int fd, const void *from, size_t count, off64_t at)
{
	static int writes;
	char name[64], path[256];
	ssize_t length;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	length = readlink(name, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = 0;
	if (strncmp(path, "/dev/cpu/", 9) == 0 && ++writes == atoi(getenv("KILL_AT")))
		raise(SIGKILL);
	return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, from, count, at);
}
"#;

fn shim(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let status = Command::new(cc).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status().unwrap();
    assert!(status.success());
    library
}

/// 14 cores and the ring are 15 registers. Each is tried first: another value and the old one again, so writes 1 to 30 are
/// trials, and 31 to 45 the plan's own. Killed before any, within a trial, and before the first, the fifth and the last write of
/// the plan, `restore` puts every word back.
#[test]
fn what_a_kill_left_half_done_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let library = shim(folder.path());
    for (kill_at, written) in [(1, 0), (2, 1), (31, 0), (35, 4), (45, 14)] {
        let script = format!(
            "everything > /run/before; plan; \
             KILL_AT={kill_at} LD_PRELOAD=\"$SHIM\" \"$WK\" apply --steps /run/plan.json > /run/said 2>&1; echo $?; \
             everything > /run/cut; paste -d' ' /run/before /run/cut | awk '$1 != $2' | wc -l; \
             \"$WK\" restore > /run/said 2>&1 || cat /run/said; everything | cmp - /run/before && echo back"
        );
        assert_eq!(
            in_room(&script, Some(&library)),
            ["137".into(), written.to_string(), "back".to_owned()],
            "{kill_at}"
        );
    }
}

/// Probing writes and reads back, and leaves every mask as it was: 12 bits and 4 classes as the guide has them.
#[test]
fn masks_are_found_by_probing() {
    let script = "masks() { for class in 0 1 2 3; do rd 0 $((0xc90 + class)); done; }; before=$(masks); \
                  \"$WK\" machine --probe-msr | grep -o 'keeps masks of 12 bits; 4 registers'; \
                  test \"$(masks)\" = \"$before\" && echo same";
    let mut command = waykeeper(&["enter", "i7-1185gre", "--", "sh", "-c", &format!("{READERS}{script}")]);
    let output = command.env("WK", env!("CARGO_BIN_EXE_waykeeper")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "keeps masks of 12 bits; 4 registers\nsame\n", "{output:?}");
}
