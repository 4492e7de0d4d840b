//! `--help`, `--version` and `list`.

use crate::program::{Desk, list};

#[test]
fn the_help_of_every_command_has_an_example_that_names_it() {
    let desk = Desk::new();
    let top = desk.run(&["--help"]).with(0).stdout;
    assert!(top.contains("waykeeper run this-machine"), "{top}");
    for command in [
        "run",
        "merge",
        "list",
        "show",
        "tune",
        "hunt",
        "compare",
        "report",
        "bundle",
        "import",
        "export",
        "plan",
        "decode",
        "apply",
        "status",
        "verify",
        "follow",
        "restore",
        "enter",
        "mount",
        "watch",
        "load",
        "doctor",
        "channels",
        "rtcp",
        "kpi",
        "trace",
        "bugreport",
        "schema",
        "completions",
    ] {
        let help = desk.run(&[command, "--help"]).with(0).stdout;
        let example = format!("  waykeeper {command}");
        assert!(help.contains("Example") && help.contains(&example), "{command}: {help}");
    }
}

#[test]
fn completions_and_man_pages_have_every_command_of_the_help() {
    let desk = Desk::new();
    let help = desk.run(&["--help"]).with(0).stdout;
    let (_, listed) = help.split_once("Commands:\n").unwrap();
    let (listed, _) = listed.split_once("\n\n").unwrap();
    let commands: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 20 && commands.contains(&"merge") && !commands.contains(&"man-pages"), "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let text = desk.run(&["completions", shell]).with(0).stdout;
        assert!(commands.iter().all(|command| text.contains(command)), "{shell}: {text}");
    }
    desk.run(&["completions", "tcsh"]).with(2);
    desk.run(&["man-pages", "man"]).with(0);
    for command in commands {
        let page = std::fs::read_to_string(desk.path().join(format!("man/waykeeper-{command}.1")));
        // clap has no page for its own `help`.
        assert!(command == "help" || page.unwrap().contains(".SH"), "{command}");
    }
}

#[test]
fn every_exit_status_is_in_the_help() {
    let help = Desk::new().run(&["run", "--help"]).with(0).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for status in
        ["0 done", "1 a budget was broken", "2 bad input", "3 this machine cannot", "4 too little data", "130"]
    {
        assert!(words.contains(status), "{status}: {help}");
    }
}

#[test]
fn no_arguments_show_the_help_and_are_bad_input() {
    let ended = Desk::new().run(&[]).with(2);
    assert!(ended.stdout.is_empty() && ended.stderr.contains("Usage: waykeeper"), "{ended:?}");
}

#[test]
fn the_list_names_every_bundled_file_with_its_title() {
    let desk = Desk::new();
    let text = desk.run(&["list"]).with(0).stdout;
    let json = desk.run(&["list", "--json"]).with(0).json();
    for section in ["experiments", "policies", "platforms", "workloads"] {
        let folder = section;
        let files = crate::program::names_in(&crate::program::repository().join(folder));
        let mut expected: Vec<_> = files.iter().filter_map(|file| file.strip_suffix(".toml")).collect();
        expected.sort_unstable();
        let listed: Vec<_> = list(&json, section).iter().map(|entry| entry["name"].as_str().unwrap()).collect();
        assert_eq!(listed, expected);
        for entry in list(&json, section) {
            let (name, title) = (entry["name"].as_str().unwrap(), entry["title"].as_str().unwrap());
            assert!(!title.is_empty() && !title.contains('\n'), "{name} has the title `{title}`");
            assert!(text.lines().any(|line| line.contains(name) && line.ends_with(title)), "{name}: {text}");
        }
    }
}
