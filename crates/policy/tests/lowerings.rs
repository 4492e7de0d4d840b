//! The forms for firmware, bare metal, hypervisors and clocks: the documents' own examples, worked out by hand.

use proptest::prelude::*;
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::{Assignment, Form, LoadedPolicy, Lowered, Membership, Offer, Refusal, Step, lower, plan};

fn offer(platform: &str) -> Offer {
    let file = find_bundled(platform).unwrap_or_else(|| panic!("no platform {platform}"));
    Offer::of_platform(&Platform::from_toml(file.text, platform).unwrap())
}

fn planned(loaded: &LoadedPolicy, offer: &Offer) -> Result<Assignment, Refusal> {
    plan(loaded, offer, &Membership::unread(&loaded.policy))
}

fn bundled(policy: &str, platform: &str, form: Form) -> Lowered {
    let (loaded, offer) = (LoadedPolicy::open(policy).unwrap(), offer(platform));
    lower(&planned(&loaded, &offer).unwrap(), &offer, form).unwrap()
}

fn written(policy: &str, platform: &str, form: Form) -> Result<Lowered, Refusal> {
    let loaded = LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{policy}")).unwrap();
    let offer = offer(platform);
    lower(&planned(&loaded, &offer)?, &offer, form)
}

fn refused(policy: &str, platform: &str, form: Form) -> String {
    let refusal = written(policy, platform, form).unwrap_err();
    assert!(!refusal.message.contains('\n'));
    refusal.message
}

/// Writes as (register, value, mask, first core).
fn writes(lowered: &Lowered) -> Vec<(&str, u64, u64, u32)> {
    lowered.writes.iter().map(|it| (it.register.as_str(), it.value, it.mask, it.cores[0])).collect()
}

fn shell(lowered: &Lowered) -> Vec<&str> {
    lowered.lines.iter().map(|line| line.shell.as_str()).collect()
}

/// Altera: scheme 0 has groups 1 to 3 (1110), scheme 1 group 0 (0001): 0x1e. Scheme 1 has CHI QoS 15, everyone else 0: 0xf0.
/// Bit 26 is 0x4000000. ACTLR_EL3 bits 10 and 11 are 0x400 + 0x800 = 0xc00.
#[test]
fn core_1_of_the_agilex_5_is_isolated() {
    let lowered = bundled("agilex5-isolate-core1", "agilex5", Form::Dsu);
    let expected = [
        ("CLUSTERACTLR_EL1", 0x400_0000, 0x400_0000, 0),
        ("CLUSTERPARTCR_EL1", 0x1e, 0xffff_ffff, 0),
        ("CLUSTERBUSQOS_EL1", 0xf0, 0xffff_ffff, 0),
        ("CLUSTERTHREADSID_EL1", 0, 0xffff_ffff, 0),
        ("CLUSTERTHREADSID_EL1", 1, 0xffff_ffff, 1),
        ("CLUSTERTHREADSID_EL1", 0, 0xffff_ffff, 2),
        ("CLUSTERTHREADSID_EL1", 0, 0xffff_ffff, 3),
        ("ACTLR_EL3", 0xc00, 0xc00, 0),
    ];
    assert_eq!(writes(&lowered), expected);
    assert_eq!(shell(&lowered)[1], "cores 0-3: CLUSTERPARTCR_EL1 (S3_0_C15_C4_3) = 0x1e");
    assert_eq!(shell(&lowered)[0], "cores 0-3: CLUSTERACTLR_EL1 (S3_0_C15_C3_3) |= 0x4000000");
    assert_eq!(shell(&lowered)[4], "core 1: CLUSTERTHREADSID_EL1 (S3_0_C15_C4_0) = 0x1");
    assert!(lowered.steps().is_empty(), "Linux reaches none of these");
}

/// Without `others` only the class's nibble is written: 15 << 4 in 0xf0.
#[test]
fn priorities_that_are_not_given_stay() {
    let rt = "[[classes]]\nname = 'rt'\ncores = '1'\npriority = 'highest'\n";
    let lowered = written(rt, "agilex5", Form::Dsu).unwrap();
    assert_eq!(writes(&lowered)[0], ("CLUSTERBUSQOS_EL1", 0xf0, 0xf0, 0));
    let both = format!("{rt}[others]\npriority = 3\n");
    // Schemes 2 to 7 get the others' level: 0x333333 << 8, then 0xf and 0x3.
    assert_eq!(writes(&written(&both, "agilex5", Form::Dsu).unwrap())[0].1, 0x3333_33f3);
    assert!(refused(&rt.replace("'highest'", "16"), "agilex5", Form::Dsu).contains("levels 0 to 15"));
    assert!(refused(rt, "i7-13800hre", Form::Msr).contains("no priorities"));
}

/// Groups that nobody shall fill are kept by a scheme ID that no core has: class rt (scheme 1) has group 0, the others (scheme
/// 0) group 3, so that scheme 2 keeps groups 1 and 2 (0110).
#[test]
fn groups_for_nobody_are_kept() {
    let policy =
        "[[classes]]\nname = 'rt'\ncores = '1'\nl3 = '1 group'\n[others]\nl3 = { share = '1 group', at = 'high' }\n";
    assert_eq!(
        writes(&written(policy, "agilex5", Form::Dsu).unwrap())[0],
        ("CLUSTERPARTCR_EL1", 0x618, 0xffff_ffff, 0)
    );
}

/// Chapter 5.3.3: 3.6 x 12.7 = 45.7 -> 0x2e; 2.5 x 12.7 = 31.8 -> 0x20; 0.4 x 12.7 = 5.1 -> 0x06; on E-cores 1.8 x 10 = 0x12 and
/// 0.4 x 10 = 0x04; the ring 4.0 x 10 = 0x28. The values of the guide's table, core by core.
#[test]
fn speed_shift_is_the_guides_table() {
    let guide: [u64; 14] = [
        0xf000000080002006,
        0xf000000081002006,
        0xf000000082002006,
        0xf000000083002006,
        0xf0000000002e2e2e,
        0xf0000000002e2e2e,
        0xf000000085001204,
        0xf000000086001204,
        0xf000000087001204,
        0xf000000088001204,
        0xf000000089001204,
        0xf00000008a001204,
        0xf00000008b001204,
        0xf00000008c001204,
    ];
    let register = |cpu, register, value, mask| Step::Register { cpu, register, value, mask };
    let mut expected: Vec<_> =
        guide.iter().zip(0..).map(|(value, cpu)| register(cpu, 0x774, *value, u64::MAX)).collect();
    // Bits 14:8 and 6:0.
    expected.push(register(0, 0x620, 0x2828, 0x7f7f));
    for form in [Form::Hwp, Form::Msr] {
        let lowered = bundled("tcc-speed-shift", "i7-13800hre", form);
        assert_eq!(lowered.steps(), expected, "{form}");
        assert!(shell(&lowered).contains(&"wrmsr -p 4 0x774 0xf0000000002e2e2e"), "{:?}", shell(&lowered));
        assert!(shell(&lowered).contains(&"wrmsr -p 0 0x620 0x2828"));
    }
}

/// Clocks and ways in one policy are both registers.
#[test]
fn clocks_and_ways_go_together_as_registers() {
    let policy = "[[classes]]\nname = 'rt'\ncores = '4,5'\nl3 = 'half'\nclock = '3.6 GHz'\n";
    let lowered = written(policy, "i7-13800hre", Form::Msr).unwrap();
    let registers: Vec<u32> = lowered
        .steps()
        .iter()
        .filter_map(|step| if let Step::Register { register, .. } = step { Some(*register) } else { None })
        .collect();
    assert_eq!(registers.iter().filter(|it| **it == 0x774).count(), 2);
    assert_eq!(registers.iter().filter(|it| **it == 0xc8f).count(), 14);
    let message = refused(policy, "i7-13800hre", Form::Hwp);
    assert!(
        message.contains("form `hwp` cannot write cache ways that are set through Intel CAT")
            && message.contains("as `msr`"),
        "{message}"
    );
}

/// Class 0 keeps portions 3 to 5 (0x38), class 1 has 0 to 2 (0x7). A weight of 8 against 1: strides 1 and 8, less one 0 and 7,
/// with bit 31 to enable.
#[test]
fn portions_and_strides_of_the_cd8180() {
    let lowered = bundled("cd8180-portions", "cd8180", Form::Mpam);
    let all = 0xffff_ffff;
    let expected = [
        ("MPAMCFG_PART_SEL", 0, all, 0),
        ("MPAMCFG_CPBM0", 0x38, all, 0),
        ("MPAMCFG_MBW_PROP", 0x8000_0007, all, 0),
        ("MPAMCFG_PART_SEL", 1, all, 0),
        ("MPAMCFG_CPBM0", 0x7, all, 0),
        ("MPAMCFG_MBW_PROP", 0x8000_0000, all, 0),
    ];
    assert_eq!(writes(&lowered)[..6], expected);
    // Core 0 is the class's: PARTID 1 in both halves, 0x10001.
    let core = |core: u32| {
        writes(&lowered).into_iter().filter(|it| it.0.ends_with("_EL1") && it.3 == core).collect::<Vec<_>>()
    };
    assert_eq!(core(0), [("MPAM0_EL1", 0x1_0001, all, 0), ("MPAM1_EL1", 0x1_0001, all, 0)]);
    assert_eq!(core(11)[0].1, 0);
    // What the kernel can do of it is told.
    let text = lowered.text.unwrap();
    assert!(text.contains("echo 'L3:0=7' > /sys/fs/resctrl/real-time/schemata"), "{text}");
    let loaded = LoadedPolicy::open("cd8180-portions").unwrap();
    let refusal = lower(&planned(&loaded, &offer("cd8180")).unwrap(), &offer("cd8180"), Form::Resctrl).unwrap_err();
    assert!(refusal.lacking && refusal.message.contains("weights of bandwidth"), "{refusal}");
}

#[test]
fn weights_become_strides() {
    let policy = |weight: u32, others: u32| {
        format!("[[classes]]\nname = 'rt'\ncores = '0'\nweight = {weight}\n[others]\nweight = {others}\n")
    };
    let strides = |weight, others| {
        let lowered = written(&policy(weight, others), "cd8180", Form::Mpam).unwrap();
        lowered
            .writes
            .iter()
            .filter(|it| it.register == "MPAMCFG_MBW_PROP")
            .map(|it| it.value & 0xffff)
            .collect::<Vec<_>>()
    };
    assert_eq!(strides(1, 1), [0, 0]);
    assert_eq!(strides(64, 1), [63, 0]);
    // 3 : 2 is a stride of 1.5, which becomes 2.
    assert_eq!(strides(3, 2), [1, 0]);
    assert!(refused(&policy(65, 1), "cd8180", Form::Mpam).contains("strides up to 64"));
    assert!(refused(&policy(2, 1), "agilex5", Form::Dsu).contains("no proportional stride"));
}

/// The L3 of the Agilex 5: 2 MiB / 16 ways = 128 KiB a way, 32 pages of 4 KiB: bits 16 to 12. Half of them are 16. A way of the
/// Cortex-A55's first level has 32 KiB / 4 = 8 KiB, two pages: Bao has 16 colours, half of them 0xff and 0xff00.
#[test]
fn colours_of_the_agilex_5() {
    let xen = bundled("colour-halves", "agilex5", Form::Xen);
    let expected = [
        "llc-coloring=on llc-size=2M llc-nr-ways=16 dom0-llc-colors=16-30 xen-llc-colors=31",
        "llc_colors = [\"0-15\"]",
        "cpus = \"1\"",
    ];
    assert_eq!(shell(&xen), expected);
    assert!(xen.text.unwrap().contains("bits 16 to 12 of its physical address: 32 colours"));
    let bao = bundled("colour-halves", "agilex5", Form::Bao);
    // A pointer since Bao 2.0, which no braces alone initialize.
    assert!(bao.text.as_ref().unwrap().contains("\t.vmlist = (struct vm_config[]) {\n"));
    assert_eq!(shell(&bao), [".hyp.colors = 0xff00", ".colors = 0xff", ".cpu_affinity = 0x2"]);
    let jailhouse = bundled("colour-halves", "agilex5", Form::Jailhouse);
    assert_eq!(shell(&jailhouse), [".color.way_size = 0x20000", ".colors = 0xffff0000", ".colors = 0xffff"]);
}

/// 3 MiB / 12 ways = 256 KiB: 64 colours. 12 MiB / 12 ways = 1 MiB: 256 colours, 64 of Bao's, as a way of the Cortex-A720's first
/// level has 16 KiB.
#[test]
fn colours_of_other_clusters() {
    let xen = bundled("colour-halves", "rk3588", Form::Xen);
    let expected = "llc-coloring=on llc-size=3M llc-nr-ways=12 dom0-llc-colors=32-62 xen-llc-colors=63";
    assert_eq!(shell(&xen)[0], expected);
    let bao = bundled("colour-halves", "cd8180", Form::Bao);
    assert_eq!(shell(&bao)[..2], [".hyp.colors = 0xffffffff00000000", ".colors = 0xffffffff"]);
    let loaded = LoadedPolicy::open("colour-halves").unwrap();
    let refusal = lower(&planned(&loaded, &offer("cd8180")).unwrap(), &offer("cd8180"), Form::Jailhouse).unwrap_err();
    assert!(refusal.message.contains("256 colours"), "{refusal}");
}

#[test]
fn colours_are_refused_where_there_are_none() {
    let policy = "[[classes]]\nname = 'rt'\ncores = '1'\ncolours = 'half'\n";
    for hashed in ["i7-13800hre", "i7-1185gre", "x7425e", "xeon-d-2752ter"] {
        assert!(refused(policy, hashed, Form::Xen).contains("hash"), "{hashed}");
    }
    assert!(refused(policy, "zynq7000", Form::Xen).contains("64-bit Arm only"));
    assert!(refused(policy, "apollo-lake-e3950", Form::Bao).contains("64-bit Arm only"));
    assert!(refused(&policy.replace("half", "32 colours"), "agilex5", Form::Xen).contains("the others need one"));
    // Bao's colours are two pages each there.
    assert!(refused(&policy.replace("half", "3 colours"), "agilex5", Form::Bao).contains("no whole number of Bao's"));
}

/// 20 bits: half are 10, from bit 0; the others keep 10 to 19.
#[test]
fn jailhouse_takes_regions_of_an_l3_with_cat() {
    let policy = "[[classes]]\nname = 'rt'\ncores = '11'\nl3 = 'half'\n";
    let lowered = written(policy, "xeon-d-2752ter", Form::Jailhouse).unwrap();
    let expected = [
        "{ .start = 10, .size = 10, .type = JAILHOUSE_CACHE_L3 }",
        "{ .start = 0, .size = 10, .type = JAILHOUSE_CACHE_L3 }",
    ];
    assert_eq!(shell(&lowered), expected);
    assert!(refused(policy, "i7-13800hre", Form::Jailhouse).contains("CPUID enumerates"));
}

/// Core 1 is isolated; 0, 2 and 3 do the rest.
#[test]
fn kernel_parameters_name_the_guarded_cores() {
    let lowered = bundled("agilex5-isolate-core1", "agilex5", Form::Cmdline);
    let expected = [
        "isolcpus=domain,managed_irq,1",
        "nohz_full=1",
        "rcu_nocbs=1",
        "rcu_nocb_poll",
        "irqaffinity=0,2-3",
        "skew_tick=1",
        "nosoftlockup",
        "nmi_watchdog=0",
    ];
    assert_eq!(shell(&lowered), expected);
    assert!(lowered.lines.iter().all(|line| !line.why.is_empty()));
    assert_eq!(lowered.text.unwrap().lines().last().unwrap(), expected.join(" "));
    // A cap is no reason to isolate anybody.
    let cap = "[[classes]]\nname = 'batch'\ncores = '2'\nl3 = { share = '1 group', exclusive = false }\n";
    assert!(
        refused(cap, "agilex5", Form::Cmdline).contains("nothing alone")
            || refused(cap, "agilex5", Form::Cmdline).contains("no cores")
    );
    let all = "[[classes]]\nname = 'all'\ncores = '0-3'\nl3 = '1 group'\n";
    assert!(refused(all, "agilex5", Form::Cmdline).contains("all cores"));
}

/// The lockdown registers are the inverse of a mask: the class fills ways 0 and 1 (0x3), so that 0xfc is locked for core 1, and
/// the others' 0xfc leaves 0x3 locked for core 0.
#[test]
fn ways_by_master_of_the_pl310() {
    let policy = "[[classes]]\nname = 'rt'\ncores = '1'\nl2 = '2 ways'\n";
    let lowered = written(policy, "zynq7000", Form::Pl310).unwrap();
    let expected = [
        ("PL310_D_LOCKDOWN0", 0x3, 0xffff, 0),
        ("PL310_I_LOCKDOWN0", 0x3, 0xffff, 0),
        ("PL310_D_LOCKDOWN1", 0xfc, 0xffff, 1),
        ("PL310_I_LOCKDOWN1", 0xfc, 0xffff, 1),
    ];
    assert_eq!(writes(&lowered), expected);
}

#[test]
fn lockdown_that_does_not_fit_is_refused() {
    let lock = |more: &str| format!("[lockdown]\ncore = 0\n{more}");
    let pages = lock("pages = ['0x0', '0x100000', '0x200000', '0x300000', '0x400000']\n");
    assert!(refused(&pages, "zynq7000", Form::Pl310).contains("locks 4 entries"));
    let twice = lock("pages = ['0x100000', '0x1fffff']\n");
    assert!(refused(&twice, "zynq7000", Form::Pl310).contains("same page"));
    // A way has 64 KiB: 64 KiB + 1 byte, or two lines 64 KiB apart, need two.
    let long = lock("l2 = '1 way'\n[[lockdown.lines]]\nstart = '0x100000'\nbytes = 65537\n");
    assert!(refused(&long, "zynq7000", Form::Pl310).contains("1 locked ways of 64 KiB"));
    let part = |start: &str| format!("[[lockdown.lines]]\nstart = '{start}'\nbytes = 4\n");
    let apart = lock(&format!("l2 = '1 way'\n{}{}", part("0x100000"), part("0x110000")));
    assert!(refused(&apart, "zynq7000", Form::Pl310).contains("one line of every set"));
    assert!(written(&apart.replace("1 way", "2 ways"), "zynq7000", Form::Pl310).is_ok());
    let all = lock("l2 = '8 ways'\n[[lockdown.lines]]\nstart = '0x100000'\nbytes = 4\n");
    assert!(refused(&all, "zynq7000", Form::Pl310).contains("1 has to stay"));
    assert!(refused(&twice, "agilex5", Form::Dsu).contains("neither cache ways nor TLB entries"));
}

#[test]
fn every_form_refuses_what_it_does_not_write() {
    for (policy, platform, own) in [
        ("agilex5-isolate-core1", "agilex5", vec![Form::Dsu, Form::Tfa, Form::Uboot]),
        ("cd8180-portions", "cd8180", vec![Form::Mpam]),
        ("zynq-lockdown", "zynq7000", vec![Form::Pl310]),
        ("tcc-speed-shift", "i7-13800hre", vec![Form::Msr, Form::Hwp]),
        ("colour-halves", "agilex5", vec![Form::Xen, Form::Bao, Form::Jailhouse]),
        ("tcc-halves", "i7-13800hre", vec![Form::Msr, Form::Pqos]),
    ] {
        let (loaded, offer) = (LoadedPolicy::open(policy).unwrap(), offer(platform));
        let assignment = planned(&loaded, &offer).unwrap();
        assert!(own.contains(&Form::suiting(&assignment, &offer)), "{policy}");
        for form in Form::ALL.into_iter().filter(|form| *form != Form::Cmdline) {
            match lower(&assignment, &offer, form) {
                Ok(_) => assert!(own.contains(&form), "{policy} as {form}"),
                Err(refusal) => assert!(!own.contains(&form) && refusal.lacking, "{policy} as {form}: {refusal}"),
            }
        }
    }
}

proptest! {
    /// What cores may fill by the rule of CLUSTERPARTCR_EL1 (their own scheme's groups, and those of no scheme) is what the
    /// plan says, whoever is exclusive.
    #[test]
    fn the_partition_register_says_what_the_plan_says(
        groups in prop::collection::vec((0_u32..3, any::<bool>(), any::<bool>()), 1..4),
        others in prop::option::of(1_u32..3),
    ) {
        let mut text = String::from("title = 'x'\n");
        for (i, (count, high, exclusive)) in groups.iter().enumerate() {
            let at = if *high { "high" } else { "low" };
            let count = count + 1;
            text += &format!("[[classes]]\nname = 'c{i}'\ncores = '{i}'\nl3 = {{ share = '{count} groups', at = '{at}', exclusive = {exclusive} }}\n");
        }
        if let Some(others) = others {
            text += &format!("[others]\nl3 = '{others} groups'\n");
            text = text.replace(&format!("l3 = '{others} groups'"), &format!("l3 = {{ share = '{others} groups', exclusive = true }}"));
        }
        let loaded = LoadedPolicy::from_text("my", "my.toml", &text).unwrap();
        let offer = offer("agilex5");
        let Ok(assignment) = planned(&loaded, &offer) else { return Ok(()) };
        let lowered = lower(&assignment, &offer, Form::Dsu).unwrap();
        let value = |register: &str, core: u32| {
            lowered.writes.iter().find(|it| it.register == register && it.cores.contains(&core)).unwrap().value
        };
        for class in &assignment.classes {
            for core in &class.cores {
                let word = value("CLUSTERPARTCR_EL1", *core);
                let sid = value("CLUSTERTHREADSID_EL1", *core);
                let nibble = |scheme: u64| (word >> (4 * scheme)) & 0xf;
                let anybodys = !(0..8).fold(0, |all, scheme| all | nibble(scheme)) & 0xf;
                prop_assert_eq!(nibble(sid) | anybodys, u64::from(class.masks[0].mask.0), "{}\n{}", word, text);
            }
        }
    }

    /// Pages of different classes never share a set: brute force over the pages of a few MiB.
    #[test]
    fn colours_keep_classes_in_different_sets(share in 1_u32..31, platform in prop::sample::select(vec!["agilex5", "rk3588", "cd8180"])) {
        let text = format!("title = 'x'\n[[classes]]\nname = 'rt'\ncores = '1'\ncolours = '{share} colours'\n");
        let loaded = LoadedPolicy::from_text("my", "my.toml", &text).unwrap();
        let assignment = planned(&loaded, &offer(platform)).unwrap();
        let colours = assignment.controls.colours.unwrap();
        let (low, high) = colours.bits;
        let file = Platform::from_toml(find_bundled(platform).unwrap().text, platform).unwrap();
        let cache = file.shared_caches.iter().max_by_key(|cache| cache.level).unwrap();
        let sets = cache.size_kib.value * 1024 / cache.ways.value / file.line_bytes.value;
        let mut owner = vec![None; sets as usize];
        for page in 0..2 * u64::from(colours.colours) {
            let address = page << 12;
            let colour = (address >> low) as u32 & ((1 << (high - low + 1)) - 1);
            let class = colours.shares.iter().find(|it| it.first <= colour && colour <= it.last()).unwrap().class;
            for line in (address..address + 4096).step_by(file.line_bytes.value as usize) {
                let set = (line / file.line_bytes.value % sets) as usize;
                prop_assert!(owner[set].is_none_or(|other| other == class));
                owner[set] = Some(class);
            }
        }
        prop_assert!(owner.iter().all(Option::is_some));
    }
}
