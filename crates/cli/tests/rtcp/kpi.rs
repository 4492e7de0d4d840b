//! `kpi` in two namespaces: the control loop alone on core 1, the generator and the load on core 0. That the two share a core makes the
//! round trip long, and the time from receive to transmit not.

use serde_json::Value;

use crate::network::{Namespace, PROGRAM, this_machine};

/// The generator's command, in the other namespace.
fn generator(plant: &Namespace, path: &str) -> String {
    let command = plant.command(PROGRAM, &["rtcp", "generate", "--if", "wk0", "--path", path, "--interrupt"]);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

fn measured(path: &str, cycles: &[&str]) -> Value {
    let (plant, machine) = (Namespace::new(), Namespace::new());
    plant.cable("wk0", 0xa, &machine, "wk1", 0xb);
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("lab").display().to_string();
    let command = generator(&plant, "packet");
    let mut arguments = vec!["kpi", "--session", &session, "--rt-cores", "1", "--if", "wk1", "--path", path];
    arguments.extend(["--generator", &command, "--duration", "10s", "--block", "2s", "--no-cyclictest", "--json"]);
    cycles.iter().for_each(|cycle| arguments.extend(["--cycle", *cycle]));
    arguments.extend(["--packet-budget", "max<=1s"]);
    let output = machine.command(PROGRAM, &arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.code().is_some_and(|status| [0, 4].contains(&status)), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

#[test]
fn half_a_minute_of_wake_ups_and_two_cycles_is_accounted_for() {
    let _machine = this_machine();
    let report = measured("xdp", &["1ms:264KiBx12k", "125us:264KiBx12k"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{report}");
    for row in &rows[1..] {
        let count = |key: &str| row["packets"][key].as_u64().unwrap_or_else(|| panic!("no {key} in {row}"));
        // On a virtual cable nothing is lost but what the kernel drops, and counts, while the machine keeps the responder from its
        // core: each other packet was received and answered once.
        let dropped = count("dropped");
        assert_eq!((count("received") + dropped, count("doubled")), (count("sent"), 0), "{row}");
        assert!(count("missing") <= dropped && count("lost") >= dropped, "{row}");
        assert!(dropped > 0 || count("lost") == 0, "{row}");
        assert_eq!(row["missed_cycles"].as_u64(), Some(count("lost") + count("late")), "{row}");
        // The warm-up is in the counts, and not in the samples.
        let iterations = row["iterations"].as_u64().unwrap();
        assert!(iterations > 0 && iterations <= count("received"), "{row}");
        assert!(row["path"].as_str().unwrap().starts_with("AF_XDP copy"), "{row}");
        // The generator has the load's core.
        assert_eq!(row["packets"]["generator_shares_core"].as_u64(), Some(0), "{row}");
        assert_eq!(row["blocks"], 5, "{row}");
        // The round trip holds the time from receive to transmit.
        let round_trip = row["packets"]["round_trip_min_ns"].as_f64().unwrap();
        assert!(round_trip > row["minimum_ns"].as_f64().unwrap(), "{row}");
        assert!(!row["guide"]["measured"].as_str().unwrap().contains("DPDK"), "{row}");
    }
    // A hundred and some releases in each of five blocks: what was sent and what the generator came too late for.
    let packets = &rows[1]["packets"];
    let releases = packets["sent"].as_u64().unwrap() + packets["missed_periods"].as_u64().unwrap();
    assert!((9_500..=11_000).contains(&releases), "{packets}");
}

#[test]
fn a_generator_that_fails_is_named_with_its_last_words() {
    let _machine = this_machine();
    let (plant, machine) = (Namespace::new(), Namespace::new());
    plant.cable("wk0", 0xa, &machine, "wk1", 0xb);
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("lab").display().to_string();
    for (command, words) in [
        ("sh -c 'echo no such board >&2; exit 255'", "no such board"),
        ("echo hello", "no result of `waykeeper rtcp generate --json`"),
        ("/no/such/program", "/no/such/program"),
    ] {
        let _ = std::fs::remove_dir_all(&session);
        let arguments = [
            "kpi",
            "--session",
            &session,
            "--rt-cores=1",
            "--if=wk1",
            "--path=packet",
            "--no-cyclictest",
            "--duration=1s",
            "--generator",
        ];
        let output = machine.command(PROGRAM, &[&arguments[..], &[command, "--cycle=1ms"]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{command}: {said}");
        assert!(said.contains(words), "{command}: {said}");
    }
}
