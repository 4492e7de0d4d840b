//! `machine` and `catalogue`: what they print of made-up machines, and that others of the program's commands take it.

use std::path::PathBuf;

use serde_json::Value;
use waykeeper_linux::fixtures::{self, Description};

use crate::program::{Desk, list, this_machine};

fn all() -> [(&'static str, Description); 4] {
    [("hybrid", fixtures::hybrid()), ("xeon", fixtures::xeon()), ("epyc", fixtures::epyc()), ("arm", fixtures::arm())]
}

/// Writes a machine's recording, and gives its name there.
fn recorded(desk: &Desk, name: &str, machine: &Description) -> String {
    let file = format!("{name}.tar.zst");
    machine.recording().write(&desk.path().join(&file)).unwrap();
    file
}

/// The platform file of a machine.
fn platform(desk: &Desk, name: &str, machine: &Description) -> PathBuf {
    let file = recorded(desk, name, machine);
    let text = desk.run(&["machine", "--root", &file, "--platform"]).with(0).stdout;
    desk.file(&format!("{name}.toml"), &text)
}

fn complaints(schema: &str, value: &Value) -> Vec<String> {
    let schema = Desk::new().run(&["schema", schema]).with(0).json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn machines_at_a_glance() {
    let desk = Desk::new();
    for (name, machine) in all() {
        let file = recorded(&desk, name, &machine);
        let text = desk.run(&["machine", "--root", &file]).with(0).stdout;
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(format!("machine_{name}"), text) });
    }
}

#[test]
fn machines_as_json_follow_the_schema() {
    let desk = Desk::new();
    for (name, machine) in all() {
        let file = recorded(&desk, name, &machine);
        let json = desk.run(&["machine", "--root", &file, "--json"]).with(0).json();
        assert_eq!(complaints("machine", &json), [""; 0], "{name}");
        assert_eq!(list(&json, "cores").len(), machine.kinds.len(), "{name}");
        let mut broken = json.clone();
        broken["caches"][0]["ways"] = "many".into();
        assert_ne!(complaints("machine", &broken), [""; 0]);
    }
}

/// What was found is a platform like any other: it follows the schema, is simulated, and is planned for.
#[test]
fn machines_are_platforms() {
    let desk = Desk::new();
    for (name, machine) in all() {
        let file = platform(&desk, name, &machine);
        let text = std::fs::read_to_string(&file).unwrap();
        let value = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        assert_eq!(complaints("platform", &value), [""; 0], "{name}");

        let experiment = format!(
            "title = 'x'\nplatform = '{name}.toml'\nmitigations = []\n[[targets]]\nworkload = 'latency_loop'\ncore = 0\n\
             [[neighbours]]\nworkload = 'way_hammer'\ncores = [{}]\n",
            machine.kinds[0].cores[1][0]
        );
        desk.file(&format!("{name}-x.toml"), &experiment);
        let run = desk
            .run(&["run", &format!("{name}-x.toml"), "--duration=5us", "--repeats=1", "--json", "--out", name])
            .with(0)
            .json();
        assert!(list(&run, "cases").iter().all(|case| case["samples"].as_u64() > Some(0)), "{name}");

        let cores = format!("real-time={},{}", machine.kinds[0].cores[0][0], machine.kinds[0].cores[1][0]);
        let plan = desk.run(&["plan", "tcc-halves", "--for", &format!("{name}.toml"), "--cores", &cores, "--json"]);
        let plan = plan.with(0).json();
        // Half of the mask's bits for two cores, in whichever form suits.
        let bits = machine.allocation.map_or(12, |allocation| allocation.bits);
        let masks = list(&plan["assignment"]["classes"][1], "masks");
        let mask = u32::from_str_radix(masks[0]["mask"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        assert_eq!(mask.count_ones(), bits / 2, "{name}: {mask:#x}");
    }
}

#[test]
fn plans_are_made_for_recorded_machines() {
    let desk = Desk::new();
    let file = recorded(&desk, "xeon", &fixtures::xeon());
    let text = desk.run(&["plan", "tcc-halves", "--root", &file, "--cores", "real-time=8,9,20,21"]).with(0).stdout;
    assert!(text.contains("L3:0=") && text.contains("cpus_list"), "{text}");
}

#[test]
fn this_machine_is_recorded_and_read_again() {
    let desk = Desk::new();
    let text = desk.run(&["machine", "--record", "box.tar.zst"]).with(0).stdout;
    assert!(text.contains("left out:") && text.contains("serial numbers"), "{text}");
    let (mut here, mut there) = (
        desk.run(&["machine", "--json"]).with(0).json(),
        desk.run(&["machine", "--root", "box.tar.zst", "--json"]).with(0).json(),
    );
    for json in [&mut here, &mut there] {
        json["identity"]["recorded"].take();
        json["notes"].take();
        // Clocks move between two readings.
        for cores in json["cores"].as_array_mut().unwrap() {
            cores["told_mhz"].take();
        }
    }
    assert_eq!(here, there);
    desk.run(&["machine", "--record", "box"]).with(0);
    desk.run(&["machine", "--root", "box"]).with(0);
    // Nothing is overwritten.
    for taken in ["box", "box.tar.zst"] {
        let text = desk.run(&["machine", "--record", taken]).with(2).stderr;
        assert!(text.contains(taken) && text.contains("is there already"), "{text}");
    }
}

#[test]
fn what_is_no_machine_is_refused() {
    let desk = Desk::new();
    desk.file("notes.txt", "x");
    let text = desk.run(&["machine", "--root", "notes.txt"]).with(2).stderr;
    assert!(text.contains("expected a folder, .tar.zst"), "{text}");
    let text = desk.run(&["machine", "--root", "."]).with(3).stderr;
    assert!(text.contains("/sys/devices/system/cpu/online cannot be read"), "{text}");
}

#[test]
fn the_ladder_of_this_machine_rises() {
    let _machine = this_machine();
    let desk = Desk::new();
    let json = desk.run(&["machine", "--measure", "--json"]).with(0).json();
    assert_eq!(complaints("machine", &json), [""; 0]);
    let steps = list(&json["ladders"][0], "steps");
    let ns = |step: &Value| step["least_ns"].as_f64().unwrap();
    assert!(ns(&steps[0]) < ns(steps.last().unwrap()), "{json}");
}

#[test]
fn the_catalogue_is_searched() {
    let desk = Desk::new();
    let text = desk.run(&["catalogue", "13800hre"]).with(0).stdout;
    for part in
        ["i7-13800HRE", "masks of 12 bits (0xfff), 16 classes", "L3 0x3f for real", "GT CLOS", "GPPC_B14_TIME_SYNC_0"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let refused = desk.run(&["catalogue", "13800H"]).with(2).stderr;
    assert!(refused.contains("did you mean i7-13800HE, i7-13800HRE?"), "{refused}");
    let refused = desk.run(&["catalogue", "Ryzen"]).with(2).stderr;
    assert!(refused.contains("none is spelled much like it"), "{refused}");
    let one = desk.run(&["catalogue", "i7-1185GRE", "--json"]).with(0).json();
    assert_eq!(one["mask"]["bits"], 12);
    let all = desk.run(&["catalogue", "--json"]).with(0).json();
    assert_eq!(complaints("catalogue", &all), [""; 0]);
    let text = desk.run(&["catalogue"]).with(0).stdout;
    assert!(text.lines().any(|line| line.starts_with("x7425E")), "{text}");
}

/// Who may write to the folder around it could lead a recording that root makes to any file.
#[test]
fn a_recording_is_not_written_through_a_link() {
    let desk = Desk::new();
    for name in ["m.tar", "m.tar.gz", "m.tar.zst"] {
        std::os::unix::fs::symlink("victim", desk.path().join(name)).unwrap();
        let told = desk.run(&["machine", "--record", name]).with(3).stderr;
        assert!(told.contains(name) && told.contains("File exists"), "{told}");
        assert!(!desk.path().join("victim").exists());
    }
}
