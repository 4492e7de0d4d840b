//! Archives of runs, read by `tar` and `sha256sum`, and their script, run by `sh`.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Desk, Ended, PROGRAM, names_in, repository, this_machine};

const QUICK: [&str; 7] = [
    "run",
    "agilex5-cluster-latency",
    "--set=mitigations=nl3a",
    "--set=expectations=[]",
    "--duration=2ms",
    "--repeats=2",
    "--explain=2",
];

fn desk() -> Desk {
    let desk = Desk::new();
    let options = ["--budget=max<=1us", "--budget=nl3a: max<=1ms@1e-9", "--out=quick"];
    let ended = desk.run(&[&QUICK[..], &options].concat());
    assert!(matches!(ended.status, Some(0 | 1 | 4)), "{ended:?}");
    desk
}

fn sh(folder: &Path, script: &str) -> Ended {
    let mut command = Command::new("sh");
    Ended::of(command.args(["-c", script]).current_dir(folder).env("WAYKEEPER", PROGRAM))
}

/// Packs the runs, and unpacks with the system's `tar`.
#[track_caller]
fn unpacked(desk: &Desk, runs: &[&str], out: &str) -> PathBuf {
    let option = format!("--out={out}");
    desk.run(&[&["bundle"], runs, &[option.as_str()]].concat()).with(0);
    sh(desk.path(), &format!("mkdir x && tar -xf {out} -C x 2>tar.err && test ! -s tar.err")).with(0);
    let names = names_in(&desk.path().join("x"));
    assert_eq!(names.len(), 1, "all is in one folder: {names:?}");
    desk.path().join("x").join(&names[0])
}

/// All files below a folder, with `find`.
fn files(folder: &Path) -> Vec<String> {
    let found = sh(folder, "find . -type f | sort").with(0).stdout;
    found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

#[test]
fn tar_and_sha256sum_find_the_runs_as_they_were_left() {
    let desk = desk();
    let archive = unpacked(&desk, &["quick"], "all.tar.gz");
    sh(&archive, "sha256sum -c --strict --quiet MANIFEST.sha256").with(0);
    sh(desk.path(), &format!("diff -r quick {}/runs/quick", archive.display())).with(0);
    let listed = std::fs::read_to_string(archive.join("MANIFEST.sha256")).unwrap();
    let mut listed: Vec<&str> = listed.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    listed.push("MANIFEST.sha256");
    listed.sort_unstable();
    let found = files(&archive);
    assert_eq!(listed, found);
    for (bundled, place) in [
        ("platforms/agilex5.toml", "inputs/bundled/platforms/agilex5.toml"),
        ("workloads/latency_loop.toml", "inputs/bundled/workloads/latency_loop.toml"),
    ] {
        let text = std::fs::read_to_string(archive.join(place)).unwrap();
        assert_eq!(text, std::fs::read_to_string(repository().join(bundled)).unwrap(), "{place}");
    }
    for drawn in ["report.html", "report-figures/latency.svg", "README.md", "reproduce.sh"] {
        assert!(found.iter().any(|file| file == drawn), "{drawn}: {found:?}");
    }
}

#[test]
fn the_script_verifies_runs_again_and_draws_again() {
    let desk = desk();
    let archive = unpacked(&desk, &["quick"], "all.tar.gz");
    sh(&archive, "sh -n reproduce.sh").with(0);
    let said = sh(desk.path(), &format!("{}/reproduce.sh", archive.display())).with(0).stdout;
    for line in
        ["verified: ", "quick: equal, all histograms byte for byte", "report.html: drawn again, equal byte for byte"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("not the build"), "{said}");
    let differing = desk.run(&["compare", "quick", &archive.join("again/quick").display().to_string()]).with(0).stdout;
    assert!(!differing.contains("worse"), "{differing}");
    // Budgets and explained samples too: all but times, hashes of paths and the command line.
    let read = |path: PathBuf| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(path.join("run.json")).unwrap()).unwrap()
    };
    let (first, again) = (read(desk.path().join("quick")), read(archive.join("again/quick")));
    assert_eq!(first["budgets"].as_array().unwrap().len(), again["budgets"].as_array().unwrap().len());
    assert_eq!(first["provenance"], again["provenance"]);
    for (case, same) in first["cases"].as_array().unwrap().iter().zip(again["cases"].as_array().unwrap()) {
        for key in ["name", "samples", "max_ns", "mean_ns", "p99_ns", "longest", "verdict"] {
            assert_eq!(case.get(key), same.get(key), "{key}");
        }
    }
    sh(&archive, "./reproduce.sh run").with(2);
    sh(&archive, "./reproduce.sh what").with(2);
    sh(&archive, "WAYKEEPER=./nowhere ./reproduce.sh verify").with(0);
    sh(&archive, "rm -r again; WAYKEEPER=./nowhere ./reproduce.sh run").with(3);
    // A byte more is found, and so is a run that is another.
    sh(&archive, "printf x >>runs/quick/samples.hlog; ./reproduce.sh verify").with(1);
    let said = sh(&archive, "rm -rf again; ./reproduce.sh run").with(1).stdout;
    assert!(said.contains("quick: differs from the run in the archive"), "{said}");
}

#[test]
fn files_of_the_user_are_in_it_and_the_script_takes_them_from_there() {
    let desk = Desk::new();
    let bundled = |path: &str| repository().join(path);
    std::fs::create_dir(desk.path().join("mine")).unwrap();
    std::fs::copy(bundled("platforms/agilex5.toml"), desk.path().join("mine/board.toml")).unwrap();
    std::fs::copy(bundled("policies/agilex5-isolate-core1.toml"), desk.path().join("mine/a half.toml")).unwrap();
    desk.file(
        "mine/mine.toml",
        "title = 'x'\nplatform = 'board.toml'\nrepeats = 1\nsimulated_duration = '1 ms'\nsentinel = false\n\
         targets = [{ workload = 'latency_loop', core = 1 }]\nneighbours = [{ workload = 'own', cores = [2] }]\n\
         mitigations = ['a half.toml']\n[workloads.own]\nkind = 'stream'\noperation = 'read'\nsize = '64 KiB'\n",
    );
    desk.run(&["run", "mine/mine.toml", "--seed=7", "--out=kept"]).with(0);
    let archive = unpacked(&desk, &["kept"], "all.tar.zst");
    // Only the archive is left.
    std::fs::remove_dir_all(desk.path().join("mine")).unwrap();
    std::fs::remove_dir_all(desk.path().join("kept")).unwrap();
    let said = sh(&archive, "./reproduce.sh").with(0).stdout;
    assert!(said.contains("kept: equal, all histograms byte for byte"), "{said}");

    // What the run does not know by its hash stays out.
    let desk = Desk::new();
    std::fs::copy(bundled("platforms/agilex5.toml"), desk.path().join("board.toml")).unwrap();
    desk.file(
        "mine.toml",
        "title = 'x'\nplatform = 'board.toml'\nrepeats = 1\nsimulated_duration = '1 ms'\nsentinel = false\n\
         targets = [{ workload = 'latency_loop', core = 1 }]\n",
    );
    desk.run(&["run", "mine.toml", "--out=kept"]).with(0);
    desk.file("board.toml", "another");
    desk.file("kept/notes.txt", "mine");
    let said = desk.run(&["bundle", "kept", "--out=b.tar.gz"]).with(0).stdout;
    assert!(said.contains("its SHA-256 is another one") && said.contains("runs/kept/notes.txt"), "{said}");
    sh(desk.path(), "tar -xf b.tar.gz").with(0);
    assert!(!files(&desk.path().join(only_bundle(&desk))).iter().any(|file| file.contains("board")));
    let said = sh(&desk.path().join(only_bundle(&desk)), "./reproduce.sh run").with(3).stdout;
    assert!(said.contains("kept: cannot be run again: the archive lacks `board.toml`"), "{said}");
}

fn only_bundle(desk: &Desk) -> String {
    desk.names().into_iter().find(|name| name.ends_with("-bundle")).unwrap()
}

#[test]
fn equal_runs_give_equal_bytes() {
    let desk = desk();
    sh(desk.path(), "mkdir other && cp -r quick other/quick && touch -d 2001-01-01 other/quick/run.json").with(0);
    for (first, second) in [("a.tar.gz", "b.tar.gz"), ("a.tar.zst", "b.tar.zst")] {
        let one = desk.run(&["bundle", "quick", &format!("--out={first}")]).with(0).stdout;
        desk.run(&["bundle", "other/quick/", &format!("--out={second}")]).with(0);
        sh(desk.path(), &format!("cmp {first} {second}")).with(0);
        let sum = sh(desk.path(), &format!("sha256sum {first}")).with(0).stdout;
        assert!(one.contains(&format!("sha256: {}\n", &sum[..64])), "{one}");
    }
    // Two of one name are both in it.
    desk.run(&["bundle", "quick", "other/quick", "--out=two.tar.gz"]).with(0);
    let listed = sh(desk.path(), "tar -tf two.tar.gz").with(0).stdout;
    assert!(listed.contains("/runs/quick/run.json\n") && listed.contains("/runs/quick-2/run.json\n"), "{listed}");
}

#[test]
fn folders_that_are_no_whole_runs_are_refused_and_nothing_is_left() {
    let desk = desk();
    let path = |name: &str| desk.path().join(name);
    let copy = |name: &str| {
        sh(desk.path(), &format!("cp -r quick {name}")).with(0);
    };
    std::fs::create_dir(path("empty")).unwrap();
    desk.file("file", "");
    copy("linked");
    std::fs::remove_file(path("linked/samples.hlog")).unwrap();
    symlink(path("quick/samples.hlog"), path("linked/samples.hlog")).unwrap();
    copy("linked-beside");
    symlink("/etc/passwd", path("linked-beside/notes")).unwrap();
    copy("edited");
    sh(desk.path(), "echo '# more' >>edited/experiment.toml").with(0);
    copy("damaged");
    desk.file("damaged/samples.hlog", "no log");
    copy("gone");
    std::fs::remove_file(path("gone/excursions.hlog")).unwrap();
    copy("pipe");
    sh(desk.path(), "rm pipe/excursions.hlog && mkfifo pipe/excursions.hlog").with(0);
    copy("cut");
    sh(desk.path(), "sed -i 's/\"cut_short\": false/\"cut_short\": true/' cut/run.json").with(0);
    let shard = [&QUICK[..6], &["--shard=1/2", "--out=shard"]].concat();
    desk.run(&shard).with(0);
    for (run, expected) in [
        ("empty", "this is not a run"),
        ("file", "this is no folder"),
        ("nowhere", "this is no folder"),
        ("linked", "this is a symbolic link"),
        ("linked-beside", "this is a symbolic link"),
        ("edited", "its experiment.toml is not the one that was run"),
        ("damaged", "expected a log in HdrHistogram's format"),
        ("gone", "excursions.hlog"),
        ("pipe", "excursions.hlog"),
        ("cut", "this run was cut short; expected a whole run: `waykeeper run --resume cut` goes on"),
        ("shard", "`waykeeper merge`"),
    ] {
        let ended = desk.run(&["bundle", "quick", run, "--out=no.tar.gz"]).with(2);
        assert!(ended.stderr.contains(expected), "{run}: {}", ended.stderr);
        assert!(!path("no.tar.gz").exists(), "{run}");
    }
    desk.file("there.tar.gz", "mine");
    symlink("nowhere", path("link.tar.gz")).unwrap();
    for (out, expected) in [
        ("there.tar.gz", "it exists, and no archive is overwritten"),
        ("link.tar.gz", "it exists, and no archive is overwritten"),
        ("a.zip", "expected .tar.gz or .tar.zst"),
    ] {
        let ended = desk.run(&["bundle", "quick", &format!("--out={out}")]).with(2);
        assert!(ended.stderr.contains(expected), "{out}: {}", ended.stderr);
    }
    assert_eq!(std::fs::read_to_string(path("there.tar.gz")).unwrap(), "mine");
}

#[test]
fn no_half_archive_stays_where_the_disk_is_full() {
    let desk = desk();
    // No file may grow beyond a block, as on a disk that is full.
    for ending in ["tar.gz", "tar.zst"] {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec {PROGRAM} bundle quick --out=a.{ending}");
        let ended = sh(desk.path(), &script).with(3);
        assert!(ended.stderr.contains("the archive cannot be written: File too large"), "{}", ended.stderr);
    }
    assert_eq!(desk.names(), ["quick"]);
    desk.run(&["bundle", "quick", "--out=nowhere/a.tar.gz"]).with(3);
}

#[test]
fn a_run_of_somebody_else_puts_nothing_into_the_script() {
    let desk = desk();
    let mut run = desk.record("quick");
    let evil = "'; touch pwned; echo '";
    run["experiment"] = evil.into();
    run["platform"] = format!("$(touch pwned)\n{evil}").into();
    run["started"] = "`touch pwned`\n# heading".into();
    run["tool"]["sha256"] = "\"; touch pwned; \"".into();
    run["budgets"][0]["budget"] = evil.into();
    desk.file("quick/run.json", &run.to_string());
    sh(desk.path(), "cp -r quick '$(touch pwned)'").with(0);
    let archive = unpacked(&desk, &["$(touch pwned)"], "all.tar.gz");
    sh(&archive, "sh -n reproduce.sh").with(0);
    let ended = sh(&archive, "./reproduce.sh").with(3);
    assert!(ended.stdout.contains("cannot be run again: `'; touch pwned; echo '` is not a budget"), "{}", ended.stdout);
    let found = sh(desk.path(), "find . -name pwned").with(0).stdout;
    assert_eq!(found, "");
    let readme = std::fs::read_to_string(archive.join("README.md")).unwrap();
    assert!(!readme.contains("\n# heading") && readme.contains("\\\\n\\# heading"), "{readme}");
}

#[test]
fn a_session_is_packed_with_its_record_and_its_runs_are_measured_again() {
    let _alone = this_machine();
    let desk = Desk::new();
    let session = ["kpi", "--no-cyclictest", "--duration=2s", "--block=1s", "--rt-cores=1", "--session=lab", "--json"];
    desk.run(&[&session[..], &["--budget=max<=1s over 1s"]].concat()).with(0);
    let archive = unpacked(&desk, &["lab"], "lab.tar.gz");
    sh(&archive, "cmp runs/lab/kpi.json ../../lab/kpi.json && grep -q 'Accept' acceptance-lab.html").with(0);
    let said = sh(&archive, "./reproduce.sh").with(0).stdout;
    assert!(said.contains("lab/1-wakeup: measured again on this machine"), "{said}");
    let compared = std::fs::read_to_string(archive.join("again/lab/1-wakeup.compared.txt")).unwrap();
    assert!(compared.contains("wakeup"), "{compared}");
    assert!(archive.join("drawn/acceptance-lab.html").exists(), "{said}");
}

#[test]
fn an_imported_run_is_packed_and_not_run_again() {
    let _alone = this_machine();
    let desk = Desk::new();
    sh(desk.path(), "cyclictest -a1 -t1 -i250 -h 100000 -q -D 1 --json=c.json").with(0);
    desk.run(&["import", "c.json", "--out=c"]).with(0);
    let archive = unpacked(&desk, &["c"], "c.tar.gz");
    let said = sh(&archive, "./reproduce.sh").with(3).stdout;
    assert!(said.contains("c: cannot be run again: it was imported from another tool"), "{said}");
    assert!(archive.join("drawn/report.html").exists(), "{said}");
}

#[test]
fn tables_of_channels_are_packed_and_name_the_runs_that_are_not() {
    let desk = desk();
    let text = desk.run(&["channels", "agilex5", "--run=quick"]).with(0).stdout;
    let table = desk.run(&["channels", "agilex5", "--run=quick", "--json"]).with(0).stdout;
    desk.file("argued.json", &table);
    let archive = unpacked(&desk, &["quick", "--channels=argued.json"], "all.tar.gz");
    sh(&archive, "sha256sum -c --strict --quiet MANIFEST.sha256").with(0);
    let packed = |file: &str| std::fs::read_to_string(archive.join(file)).unwrap();
    assert_eq!((packed("channels/argued.json"), packed("channels/argued.txt")), (table.clone(), text));
    assert!(packed("MANIFEST.sha256").contains("  channels/argued.json\n"));
    let readme = packed("README.md");
    assert!(readme.contains("- `channels/argued.json`: agilex5"), "{readme}");
    assert!(!readme.contains("of channels/"), "{readme}");

    // A run of the table that is not in the archive is named.
    let run =
        ["run", "agilex5-cluster-latency", "--set=mitigations=[]", "--duration=1ms", "--repeats=1", "--out=other"];
    desk.run(&run).with(0);
    std::fs::write(desk.path().join("aged.json"), table.replace("\"started\": \"2", "\"started\": \"1")).unwrap();
    let said = desk.run(&["bundle", "other", "--channels=aged.json", "--out=other.tar.gz"]).with(0).stdout;
    assert!(said.contains("of channels/aged.json: the run of `agilex5-cluster-latency` that began at 1"), "{said}");

    for (name, text, says) in [
        ("none.json", "{}", "no `format`"),
        ("run.json", "{ \"format\": 1 }", "this is no table of channels"),
        ("newer.json", "{ \"format\": 99 }", "written by a newer Waykeeper"),
        ("torn.json", &table[..table.len() / 2], "this is not JSON"),
    ] {
        desk.file(name, text);
        let error = desk.run(&["bundle", "quick", "--channels", name, "--out=no.tar.gz"]).with(2).stderr;
        assert!(error.contains(name) && error.contains(says), "{error}");
    }
    let error = desk.run(&["bundle", "quick", "--channels=absent.json", "--out=no.tar.gz"]).with(2).stderr;
    assert!(error.contains("absent.json: it cannot be read"), "{error}");
    assert!(!desk.path().join("no.tar.gz").exists());
}
