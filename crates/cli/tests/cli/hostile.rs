//! Text of others that a terminal would obey: it is shown as escapes, whichever command shows it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::Desk;

/// Clears the screen, begins a control sequence in one character, turns the direction of writing.
const HOSTILE: &str = "\u{1b}[2J\u{9b}\u{202e}X";

/// Each text of a run becomes hostile, but for those that decide what it is.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) if !["host", "none"].contains(&text.as_str()) => *text += HOSTILE,
        Value::Array(items) => items.iter_mut().for_each(spoil),
        Value::Object(members) => {
            let named = members.iter_mut().filter(|(key, _)| !["executor", "kind", "metric"].contains(&key.as_str()));
            named.for_each(|(_, member)| spoil(member));
        }
        _ => {}
    }
}

fn write_run(desk: &Desk) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0/host");
    fs::create_dir(desk.path().join("run")).unwrap();
    for name in ["samples.hlog", "excursions.hlog", "experiment.toml"] {
        fs::copy(kept.join(name), desk.path().join("run").join(name)).unwrap();
    }
    let mut run: Value = serde_json::from_slice(&fs::read(kept.join("run.json")).unwrap()).unwrap();
    spoil(&mut run);
    desk.file("run/run.json", &run.to_string());
}

fn write_tree(desk: &Desk) {
    for folder in ["tree/sys/devices/system/cpu", "tree/proc"] {
        fs::create_dir_all(desk.path().join(folder)).unwrap();
    }
    desk.file("tree/sys/devices/system/cpu/online", "0-1\n");
    desk.file(
        "tree/proc/cpuinfo",
        &format!("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A{HOSTILE}\nflags\t: fpu\n"),
    );
    desk.file("tree/proc/version", &format!("Linux version 6.1{HOSTILE} (a@b) #1\n"));
    desk.file("tree/proc/cmdline", &format!("quiet {HOSTILE} isolcpus={HOSTILE}\n"));
}

#[test]
fn no_command_shows_what_a_terminal_would_obey() {
    let desk = Desk::new();
    write_run(&desk);
    write_tree(&desk);
    let title = "\\u001b[2J\\u009b\\u202eX";
    desk.file("policy.toml", &format!("title = 'x'\n[[classes]]\nname = \"rt{title}\"\ncores = '1'\nl3 = 'half'\n"));
    let platform = fs::read_to_string(crate::program::repository().join("platforms/x7425e.toml")).unwrap();
    let (_, rest) = platform.split_once("\ntitle = ").unwrap();
    let rest = rest.split_once('\n').unwrap().1;
    desk.file("platform.toml", &format!("name = \"x{title}\"\ntitle = \"{title}\"\n{rest}"));
    desk.file("experiment.toml", &format!("title = \"{title}\"\ntargets = [{{ workload = \"w{title}\" }}]\n"));
    let at_core = format!("{HOSTILE}@1");
    let set = format!("title={HOSTILE}");
    for arguments in [
        &["show", "run"][..],
        &["show", "run", "--cases"],
        &["show", "run", "--parameters"],
        &["compare", "run", "run"],
        &["tail", "run"],
        &["report", "run", "--out", "page.html"],
        &["export", "run", "--format", "openmetrics"],
        &["export", "run", "--format", "junit"],
        &["export", "run", "--format", "perfetto"],
        &["bugreport", "--run", "run"],
        &["run", "experiment.toml", "--dry-run"],
        &["run", HOSTILE],
        &["run", "agilex5-cluster-latency", "--dry-run", "--set", &set],
        &["plan", "policy.toml", "--for", "x7425e"],
        &["plan", HOSTILE, "--for", HOSTILE],
        &["machine", "--root", "tree"],
        &["machine", "--root", "tree", "--platform"],
        &["doctor", "--root", "tree"],
        &["doctor", "--root", "tree", "--cmdline"],
        &["channels", "--root", "tree"],
        &["channels", "--run", "run"],
        &["channels", "platform.toml", "--policy", "policy.toml"],
        &["channels", HOSTILE],
        &["channels", "x7425e", "--policy", "policy.toml"],
        &["channels", "--root", "tree", "--rt-cores", HOSTILE],
        &["verify", "--root", "tree"],
        &["status", "--root", "tree"],
        &["apply", "--steps", "run/run.json"],
        &["decode", HOSTILE, "1"],
        &["catalogue", HOSTILE],
        &["trace", "--info", HOSTILE],
        &["load", &at_core],
        &["watch", "--target", &at_core],
        &["enter", HOSTILE, "--", "true"],
        &["mount", HOSTILE, "x"],
        &["show", "run", "--json"],
        &["compare", "run", "run", "--json"],
        &["machine", "--root", "tree", "--json"],
        &["export", "run", "--format", "csv"],
        &["import", HOSTILE],
        &["bundle", HOSTILE, "--out", "b.tar.gz"],
        &["merge", HOSTILE, HOSTILE, "--out", "m"],
        &["hunt", "--target", &at_core, "--on", "zynq7000"],
        &["tune", HOSTILE, "--budget", HOSTILE],
        &["follow", HOSTILE],
        // What the parser of the command line quotes.
        &[HOSTILE],
        &["list", HOSTILE],
        &["schema", HOSTILE],
        &["kpi", "--duration", HOSTILE],
        &["--remote", HOSTILE, "machine"],
    ] {
        let ended = desk.run(arguments);
        for text in [&ended.stdout, &ended.stderr] {
            // Lines of CSV end in two characters (RFC 4180).
            let ends = if arguments.contains(&"csv") { "\r\n" } else { "\n\t" };
            let obeyed = |c: char| (c.is_control() && !ends.contains(c)) || c == '\u{202e}';
            assert!(!text.contains(obeyed), "{arguments:?}: {text:?}");
        }
        assert!(!ended.stdout.is_empty() || !ended.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_platform_with_a_hostile_title_still_reads() {
    let desk = Desk::new();
    write_tree(&desk);
    let text = desk.run(&["machine", "--root", "tree", "--platform"]).with(0).stdout;
    let title = text.lines().find(|line| line.starts_with("title")).unwrap();
    let read: toml::Table = title.parse().unwrap();
    assert_eq!(read["title"].as_str().unwrap(), format!("A{HOSTILE}, as `waykeeper machine` found it"));
}
