//! The documents' own examples, worked out by hand.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::offer::{BandwidthOffer, BandwidthUnit};
use waykeeper_policy::{
    Assignment, Form, LoadedPolicy, Lowered, Membership, MountSettings, Offer, Refusal, Step, lower, plan,
};

fn offer(platform: &str) -> Offer {
    let file = find_bundled(platform).unwrap_or_else(|| panic!("no platform {platform}"));
    Offer::of_platform(&Platform::from_toml(file.text, platform).unwrap())
}

fn planned(loaded: &LoadedPolicy, offer: &Offer) -> Assignment {
    plan(loaded, offer, &Membership::unread(&loaded.policy)).unwrap()
}

fn bundled(policy: &str, platform: &str, form: Form) -> Result<Lowered, Refusal> {
    let (loaded, offer) = (LoadedPolicy::open(policy).unwrap(), offer(platform));
    lower(&planned(&loaded, &offer), &offer, form)
}

fn written(policy: &str, platform: &str, form: Form) -> Lowered {
    let loaded = LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{policy}")).unwrap();
    let offer = offer(platform);
    lower(&planned(&loaded, &offer), &offer, form).unwrap()
}

fn shell(lowered: &Lowered) -> Vec<&str> {
    lowered.lines.iter().map(|line| line.shell.as_str()).collect()
}

fn write(path: &str, text: &str) -> Step {
    Step::Write { path: path.into(), text: text.into() }
}

/// Registers as (cpu, register, value).
fn registers(lowered: &Lowered) -> Vec<(u32, u32, u64)> {
    let of = |step: Step| match step {
        Step::Register { cpu, register, value, mask } => {
            // IA32_PQR_ASSOC has the class in bits 63:32; the RMID below them is not ours.
            assert_eq!(mask, if register == 0xc8f { 0xffff_ffff_0000_0000 } else { 0xffff_ffff });
            (cpu, register, value)
        }
        other => panic!("{other:?}"),
    };
    lowered.steps().into_iter().map(of).collect()
}

/// Guide, table 3: 12 bits halve into 0x3f (bits 0 to 5) and 0x3f << 6 = 0xfc0. Of cores 0 to 13, 4 and 5 are the
/// real-time ones; 0-3 and 6-13 remain.
#[test]
fn the_halves_of_the_13800hre_as_pqos_lines() {
    let lowered = bundled("tcc-halves", "i7-13800hre", Form::Pqos).unwrap();
    let expected = [
        "export RDT_PROBE_MSR=1",
        "pqos --iface=msr -e \"llc:0=0x3f;llc:1=0xfc0\"",
        "pqos --iface=msr -a \"llc:0=0-3,6-13;llc:1=4,5\"",
    ];
    assert_eq!(shell(&lowered), expected);
}

/// Guide, table 4: the same masks; cores 0 and 1 beside 2 and 3.
#[test]
fn the_halves_of_the_1185gre_as_pqos_lines() {
    let lowered = bundled("tcc-halves", "i7-1185gre", Form::Pqos).unwrap();
    let expected = ["pqos --iface=msr -e \"llc:0=0x3f;llc:1=0xfc0\"", "pqos --iface=msr -a \"llc:0=0,1;llc:1=2,3\""];
    assert_eq!(shell(&lowered)[1..], expected);
}

/// IA32_L3_MASK_0 is 0xc90, IA32_L3_MASK_1 0xc91; class 1 in bits 63:32 of 0xc8f is 1 << 32 = 0x100000000 (the guide's
/// table prints 0x10000000, which leaves the class at 0).
#[test]
fn the_halves_of_the_13800hre_as_registers() {
    let lowered = bundled("tcc-halves", "i7-13800hre", Form::Msr).unwrap();
    let mut expected = vec![(0, 0xc90, 0x3f), (0, 0xc91, 0xfc0)];
    expected.extend((0..14).map(|core| (core, 0xc8f, if core == 4 || core == 5 { 0x1_0000_0000 } else { 0 })));
    assert_eq!(registers(&lowered), expected);
    let shell = shell(&lowered);
    for line in
        ["wrmsr -p 0 0xc90 0x3f", "wrmsr -p 0 0xc91 0xfc0", "wrmsr -p 4 0xc8f 0x100000000", "wrmsr -p 6 0xc8f 0x0"]
    {
        assert!(shell.contains(&line), "{line}: {shell:?}");
    }
}

#[test]
fn the_halves_of_the_1185gre_as_registers() {
    let lowered = bundled("tcc-halves", "i7-1185gre", Form::Msr).unwrap();
    let class_1 = 1 << 32;
    let classes = [(0, 0xc8f, 0), (1, 0xc8f, 0), (2, 0xc8f, class_1), (3, 0xc8f, class_1)];
    assert_eq!(registers(&lowered)[..2], [(0, 0xc90, 0x3f), (0, 0xc91, 0xfc0)]);
    assert_eq!(registers(&lowered)[2..], classes);
}

/// What the kernel cannot see it cannot be told: CPUID of these parts does not enumerate L3 CAT.
#[test]
fn the_halves_cannot_go_through_resctrl() {
    for platform in ["i7-13800hre", "i7-1185gre"] {
        let refusal = bundled("tcc-halves", platform, Form::Resctrl).unwrap_err();
        assert!(refusal.lacking && refusal.message.contains("CPUID does not enumerate"), "{refusal}");
    }
}

/// The recipe's first step, in an order in which no mask overlaps on the way: the others leave segment 0 (0xff - 0x1 =
/// 0xfe) before it is given. Cores 2 and 3 share the second L2, whose id is 1.
#[test]
fn one_segment_of_apollo_lake() {
    let lowered = bundled("apollo-lake-one-segment", "apollo-lake-e3950", Form::Resctrl).unwrap();
    let commands = [
        "mountpoint -q /sys/fs/resctrl || mount -t resctrl resctrl /sys/fs/resctrl",
        "echo 'L2:1=fe' > /sys/fs/resctrl/schemata",
        "mkdir /sys/fs/resctrl/clos0",
        "echo 'L2:1=1' > /sys/fs/resctrl/clos0/schemata",
        "echo '3' > /sys/fs/resctrl/clos0/cpus_list",
    ];
    assert_eq!(shell(&lowered), commands);
    let steps = [
        Step::Mounted(MountSettings::default()),
        write("schemata", "L2:1=fe\n"),
        Step::MakeGroup { group: "clos0".into() },
        write("clos0/schemata", "L2:1=1\n"),
        write("clos0/cpus_list", "3\n"),
    ];
    assert_eq!(lowered.steps(), steps);
}

/// Half of 8 segments is 4: 0xf, and 0xf0 for the others.
#[test]
fn half_of_apollo_lake() {
    let lowered = bundled("apollo-lake-half", "apollo-lake-e3950", Form::Resctrl).unwrap();
    let steps = [
        Step::Mounted(MountSettings::default()),
        write("schemata", "L2:1=f0\n"),
        Step::MakeGroup { group: "clos0".into() },
        write("clos0/schemata", "L2:1=f\n"),
        write("clos0/cpus_list", "3\n"),
    ];
    assert_eq!(lowered.steps(), steps);
    // By registers: IA32_L2_MASK_n is 0xd10 + n, one for each L2, written on its first core.
    let lowered = bundled("apollo-lake-half", "apollo-lake-e3950", Form::Msr).unwrap();
    let expected =
        [(2, 0xd10, 0xf0), (2, 0xd11, 0xf), (0, 0xc8f, 0), (1, 0xc8f, 0), (2, 0xc8f, 0), (3, 0xc8f, 1 << 32)];
    assert_eq!(registers(&lowered), expected);
    let lowered = bundled("apollo-lake-half", "apollo-lake-e3950", Form::Pqos).unwrap();
    let expected = ["pqos --iface=os -e \"l2@1:0=0xf0;l2@1:1=0xf\"", "pqos --iface=os -a \"llc:0=0-2;llc:1=3\""];
    assert_eq!(shell(&lowered), expected);
}

/// 128 KiB of 1 MiB in 8 segments is one: 0x1. The recipe forgets that the others must leave it first.
#[test]
fn a_locked_segment_of_apollo_lake() {
    let lowered = bundled("apollo-lake-pseudo-lock", "apollo-lake-e3950", Form::Resctrl).unwrap();
    let commands = [
        "echo 'L2:1=fe' > /sys/fs/resctrl/schemata",
        "mkdir /sys/fs/resctrl/demolock",
        "echo 'pseudo-locksetup' > /sys/fs/resctrl/demolock/mode",
        "echo 'L2:1=1' > /sys/fs/resctrl/demolock/schemata",
        "cat /sys/fs/resctrl/demolock/mode",
    ];
    assert_eq!(shell(&lowered)[1..], commands);
    for form in [Form::Msr, Form::Pqos] {
        let refusal = bundled("apollo-lake-pseudo-lock", "apollo-lake-e3950", form).unwrap_err();
        assert!(refusal.message.contains("only Linux itself locks"), "{refusal}");
    }
}

/// KPI set-up of the x7425E in the guide: class 1 has 0xff00 of the L2 and 0xfc0 of the L3, class 0 0xff and 0x3f. Its
/// four cores share one L2 of 16 ways and one L3 of 12.
#[test]
fn both_levels_of_the_x7425e() {
    let policy = "[[classes]]\nname = 'rt'\ncores = [2, 3]\nl2 = '0xff00'\nl3 = '0xfc0'\n";
    let lowered = written(policy, "x7425e", Form::Pqos);
    let expected = [
        "pqos --iface=msr -e \"l2:0=0xff;l2:1=0xff00\"",
        "pqos --iface=msr -e \"llc:0=0x3f;llc:1=0xfc0\"",
        "pqos --iface=msr -a \"llc:0=0,1;llc:1=2,3\"",
    ];
    assert_eq!(shell(&lowered)[1..], expected);
    let masks = &registers(&written(policy, "x7425e", Form::Msr))[..4];
    assert_eq!(masks, [(0, 0xd10, 0xff), (0, 0xc90, 0x3f), (0, 0xd11, 0xff00), (0, 0xc91, 0xfc0)]);
}

/// KPI set-up of the Xeon D in the guide: 0xffff of 20 bits for the real-time cores, 0xf0000 remains: 20 - 16 = 4 ways.
/// One cache, all of it divided, so the kernel can guard the class.
#[test]
fn the_xeon_through_resctrl() {
    let policy = "[[classes]]\nname = 'rt'\ncores = '8-11'\nl3 = '16 ways'\n";
    let steps = [
        write("schemata", "L3:0=f0000\n"),
        Step::MakeGroup { group: "rt".into() },
        write("rt/schemata", "L3:0=ffff\n"),
        write("rt/mode", "exclusive\n"),
        write("rt/cpus_list", "8-11\n"),
    ];
    assert_eq!(written(policy, "xeon-d-2752ter", Form::Resctrl).steps()[1..], steps);
}

/// L2 of the 13800HRE: a P-core (domain 4 for core 4) has 10 bits, half of them 0x1f; a module of E-cores has 16, half of
/// them 0xff. Six P-cores come first, so the modules are 6 (cores 6 to 9) and 7.
#[test]
fn halves_of_different_caches_differ() {
    let policy = "[[classes]]\nname = 'rt'\ncores = [4, 6]\nl2 = 'half'\n";
    let line = "pqos --iface=msr -e \"l2@4:0=0x3e0;l2@6:0=0xff00;l2@4:1=0x1f;l2@6:1=0xff\"";
    assert_eq!(shell(&written(policy, "i7-13800hre", Form::Pqos))[1], line);
    let registers = registers(&written(policy, "i7-13800hre", Form::Msr));
    assert_eq!(registers[..4], [(4, 0xd10, 0x3e0), (6, 0xd10, 0xff00), (4, 0xd11, 0x1f), (6, 0xd11, 0xff)]);
}

/// MPAM through resctrl: a third of 6 portions is 2 (0x3), half of them 3 (0x7 << 2 = 0x1c); bit 5 (0x20) remains.
#[test]
fn portions_of_the_cd8180() {
    let policy =
        "[[classes]]\nname = 'a'\ncores = '0'\nl3 = '1/3'\n[[classes]]\nname = 'b'\ncores = '5'\nl3 = '3 portions'\n";
    let lowered = written(policy, "cd8180", Form::Resctrl);
    let steps = lowered.steps();
    // Linux calls all of an MPAM cache shareable, so the kernel would refuse the exclusive mode.
    assert!(!steps.iter().any(|step| matches!(step, Step::Write { path, .. } if path.ends_with("mode"))));
    assert_eq!(lowered.notes.len(), 2, "{:?}", lowered.notes);
    let schemata = |step: &Step| matches!(step, Step::Write { path, .. } if path.ends_with("schemata"));
    let written: Vec<_> = steps.into_iter().filter(schemata).collect();
    assert_eq!(
        written,
        [write("schemata", "L3:0=20\n"), write("a/schemata", "L3:0=3\n"), write("b/schemata", "L3:0=1c\n")]
    );
}

/// 20 % through registers is 80 % taken away, in IA32_L2_QOS_EXT_BW_THRTL_1 (0xd50 + 1); CDP has data of class 1 in mask
/// 2 x 1 = 2 and code in mask 3, and bit 0 of 0xc81 on.
#[test]
fn throttles_and_code_masks() {
    let mut offer = offer("xeon-d-2752ter");
    offer.caches[0].cdp = true;
    offer.bandwidth = Some(BandwidthOffer {
        domains: vec![(0, (0..12).collect())],
        unit: BandwidthUnit::Percent,
        min: 10,
        max: 100,
        step: 10,
        classes: Some(8),
        rates: false,
    });
    let share = "l3 = { code = '2 ways', data = '6 ways' }\nbandwidth = '20 %'\n";
    let text = format!("title = 'x'\n[[classes]]\nname = 'rt'\ncores = '11'\n{share}");
    let loaded = LoadedPolicy::from_text("my", "my.toml", &text).unwrap();
    let assignment = planned(&loaded, &offer);
    let steps = lower(&assignment, &offer, Form::Msr).unwrap().steps();
    let register = |cpu, register, value, mask| Step::Register { cpu, register, value, mask };
    let mask = |number, value| register(0, number, value, 0xffff_ffff);
    // Class 0 keeps 20 - 8 = 12 ways from bit 8 on: 0xfff00, for code (mask 1) and data (mask 0).
    let masks = [mask(0xc91, 0xfff00), mask(0xc90, 0xfff00), mask(0xc93, 0x3), mask(0xc92, 0xfc)];
    assert_eq!(steps[..4], masks);
    assert_eq!(steps[4..6], [register(0, 0xc81, 1, 1), register(0, 0xd51, 80, 0xffff)]);
    let steps = lower(&assignment, &offer, Form::Resctrl).unwrap().steps();
    assert_eq!(steps[0], Step::Mounted(MountSettings { cdp: true, ..MountSettings::default() }));
    assert_eq!(steps[1..3], [write("schemata", "L3CODE:0=fff00\n"), write("schemata", "L3DATA:0=fff00\n")]);
    let own = ["L3CODE:0=3\n", "L3DATA:0=fc\n", "MB:0=20\n"].map(|text| write("rt/schemata", text));
    assert_eq!(steps[4..7], own);
    let pqos = lower(&assignment, &offer, Form::Pqos).unwrap();
    let lines = [
        "pqos --iface=os -R l3cdp-on",
        "pqos --iface=os -e \"llc:0d=0xfff00;llc:0c=0xfff00;llc:1d=0xfc;llc:1c=0x3\"",
        "pqos --iface=os -e \"mba:1=20\"",
        "pqos --iface=os -a \"llc:0=0-10;llc:1=11\"",
    ];
    assert_eq!(shell(&pqos), lines);
}

#[test]
fn every_bundled_policy_has_a_platform_that_carries_it_out() {
    let platforms: Vec<_> = waykeeper_platform::bundled().iter().map(|file| offer(file.name)).collect();
    for file in waykeeper_policy::bundled() {
        let loaded = LoadedPolicy::open(file.name).unwrap();
        let carried = platforms.iter().any(|offer| {
            plan(&loaded, offer, &Membership::unread(&loaded.policy))
                .is_ok_and(|assignment| lower(&assignment, offer, Form::suiting(&assignment, offer)).is_ok())
        });
        assert!(carried, "{}", file.name);
    }
}
