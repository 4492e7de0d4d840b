//! `waykeeper trace`: recordings, and what is told of them.

use crate::program::Desk;

#[test]
fn a_program_is_recorded_and_can_be_a_workload() {
    let desk = Desk::new();
    let ended = desk.run(&["trace", "--json", "--out=true.wkt", "--", "true"]).with(0);
    let told = ended.json();
    let number = |key: &str| told[key].as_u64().unwrap();
    // Even `true` starts: its loader makes more loads than stores, and touches a stack, a heap and some libraries.
    assert!(number("loads") > number("stores") && number("stores") > 1000, "{told}");
    assert!(number("instructions") > number("loads") + number("stores"), "{told}");
    assert!(number("data_pieces") > 2 && number("data_bytes") < 16 << 20, "{told}");
    assert_eq!((number("fetches"), number("code_bytes")), (0, 0));
    assert!(told["source"].as_str().unwrap().starts_with("true "), "{told}");

    desk.file(
        "x.toml",
        "title = 'x'\nplatform = 'agilex5'\nsimulated_duration = '20 ms'\nrepeats = 1\nsentinel = false\n\
         targets = [{ workload = 'recorded' }]\n[workloads.recorded]\nkind = 'trace'\nfile = 'true.wkt'\n",
    );
    desk.run(&["run", "x.toml", "--out=kept"]).with(0);
    let record = desk.record("kept");
    assert!(record["cases"][0]["samples"].as_u64().unwrap() > 3, "{record}");
    let note = record["notes"].as_array().unwrap().iter().find(|note| note.as_str().unwrap().contains("`true.wkt`"));
    let note = note.unwrap().as_str().unwrap();
    assert!(note.contains("all count as independent") && !note.contains("It is a part"), "{note}");
}

#[test]
fn what_the_program_prints_stands_beside_the_json() {
    let desk = Desk::new();
    let ended = desk.run(&["trace", "--json", "--", "echo", "hello"]).with(0);
    assert!(ended.json()["loads"].as_u64().unwrap() > 0 && ended.stderr.contains("hello"), "{ended:?}");
    let ended = desk.run(&["trace", "--out=text.wkt", "--", "echo", "hello"]).with(0);
    assert!(ended.stdout.starts_with("hello\n"), "{ended:?}");
}

#[test]
fn instructions_are_recorded_where_asked_for() {
    let desk = Desk::new();
    let told = desk.run(&["trace", "--json", "--instructions", "--limit=5000", "--", "true"]).with(0).json();
    let accesses: u64 = ["loads", "stores", "modifies"].iter().map(|key| told[*key].as_u64().unwrap()).sum();
    assert_eq!(accesses, 5000);
    assert!(told["fetches"].as_u64().unwrap() > 100 && told["code_bytes"].as_u64().unwrap() > 4096, "{told}");
    assert_eq!(desk.names(), ["true.wkt"]);
}

#[test]
fn a_program_of_its_own_is_recorded_from_inside() {
    let desk = Desk::new();
    let told = desk.run(&["trace", "--workload=mser_cif", "--limit=100000", "--json"]).with(0).json();
    assert_eq!(told["loads"].as_u64().unwrap() + told["stores"].as_u64().unwrap(), 100_000);
    assert_eq!(told["source"], "mser cif of seed 1 (from inside)");
    let text = desk.run(&["trace", "--info", "mser_cif.wkt"]).with(0).stdout;
    assert!(text.contains("mser cif of seed 1 (from inside), not to its end\n") && text.contains("100 k"), "{text}");
    desk.file(
        "x.toml",
        "title = 'x'\nplatform = 'agilex5'\nsimulated_duration = '1 ms'\nrepeats = 1\nsentinel = false\n\
         targets = [{ workload = 'recorded' }]\n[workloads.recorded]\nkind = 'trace'\nfile = 'mser_cif.wkt'\n",
    );
    desk.run(&["run", "x.toml", "--out=kept"]).with(0);
    assert!(desk.record("kept")["notes"].to_string().contains("It is a part"));
}

#[test]
fn foreign_traces_are_told_too() {
    let desk = Desk::new();
    desk.file("a.din", "2 400\n0 1000\n1 5000\n");
    let told = desk.run(&["trace", "--info=a.din", "--json"]).with(0).json();
    assert_eq!((&told["format"], &told["loads"], &told["data_bytes"]), (&"Dinero din".into(), &1.into(), &8192.into()));
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let desk = Desk::new();
    desk.file("there.wkt", "mine");
    let refused = |arguments: &[&str], status: i32, told: &str| {
        let ended = desk.run(&[&["trace"], arguments].concat()).with(status);
        assert!(ended.stderr.contains(told), "{arguments:?}: {}", ended.stderr);
    };
    refused(&["--out=there.wkt", "--", "true"], 2, "expected the name of a new file");
    refused(&["--out=nowhere/x.wkt", "--", "true"], 3, "nowhere/x.wkt: it cannot be written");
    refused(&["--info=there.wkt"], 2, "there.wkt: this is no trace");
    refused(&["--info=absent.wkt"], 2, "absent.wkt: No such file");
    refused(&["--workload=way_hammer"], 2, "expected one of disparity_cif");
    refused(&[], 2, "required");
    refused(&["--", "no-such-program-anywhere"], 2, "`no-such-program-anywhere`");
    let no_path = desk.command(&["trace", "--", "/bin/true"]).env("PATH", "/nowhere").output().unwrap();
    let told = String::from_utf8(no_path.stderr).unwrap();
    assert!(no_path.status.code() == Some(3) && told.contains("install it") && told.contains("valgrind"), "{told}");
    assert_eq!(desk.names(), ["there.wkt"]);
}
