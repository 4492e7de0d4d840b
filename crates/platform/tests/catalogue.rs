//! The catalogue against itself: what one table says holds in the others, and what does not is marked.

use std::collections::BTreeSet;

use waykeeper_platform::catalogue::{SkuMatch, Test, catalogue};

#[test]
fn every_mask_is_as_long_as_it_says() {
    for mask in &catalogue().masks {
        assert_eq!(u64::from(mask.mask), (1_u64 << mask.bits) - 1, "{}", mask.sku);
        assert!(mask.classes.is_power_of_two() && mask.bits >= 2, "{}", mask.sku);
    }
}

#[test]
fn every_section_exists() {
    let guide = catalogue();
    let mut cited: Vec<(&str, &str)> = Vec::new();
    cited.extend(guide.processors.iter().map(|row| (row.sku.as_str(), row.section.as_str())));
    cited.extend(guide.masks.iter().map(|row| (row.sku.as_str(), row.section.as_str())));
    cited.extend(guide.firmware.iter().map(|row| (row.platform.as_str(), row.section.as_str())));
    cited.extend(guide.timed_gpio.iter().map(|row| (row.platform.as_str(), row.section.as_str())));
    cited.extend(guide.measurements.iter().map(|row| (row.sku.as_str(), row.section.as_str())));
    cited.extend(guide.speed_shift.iter().map(|row| ("speed shift", row.section.as_str())));
    cited.extend(guide.speed_shift_registers.iter().map(|row| (row.name.as_str(), row.section.as_str())));
    cited.extend(guide.reliability.iter().map(|row| (row.conditions.as_str(), row.section.as_str())));
    cited.extend(guide.text_slips.iter().map(|row| (row.slip.prints.as_str(), row.section.as_str())));
    for (row, section) in cited {
        assert!(guide.sections.iter().any(|known| known == section), "{row}: section {section}");
    }
    // Two pages have no table yet; every other one has rows.
    let used: BTreeSet<&str> = guide.measurements.iter().map(|row| row.section.as_str()).collect();
    assert_eq!(used.len(), 10);
}

/// Maximum minus jitter is the minimum, which no mean is below.
#[test]
fn minima_are_below_their_means() {
    for machine in &catalogue().measurements {
        for row in &machine.results {
            let name = format!("{} {} us {:?}", machine.sku, row.period_us, row.maximum_us);
            if let (Some(average), Some(maximum)) = (row.average_us, row.maximum_us) {
                assert!(average <= maximum, "{name}");
            }
            let Some((minimum, average)) = row.minimum_us().zip(row.average_us) else { continue };
            assert!(minimum > 0.0, "{name}");
            // Rounded to whole microseconds, a mean of 1 us may hide a minimum of 1 us.
            let fits = minimum < average || (row.test == Test::Cyclictest && minimum <= average);
            assert!(fits || row.slip.is_some(), "{name}: {minimum}");
        }
    }
}

/// A day has 86,400 s: so many cycles of a period fit.
#[test]
fn no_day_has_more_cycles_than_fit() {
    for machine in &catalogue().measurements {
        for row in &machine.results {
            let Some(cycles) = row.million_cycles else { continue };
            let fit = 86_400.0 / f64::from(row.period_us);
            // 86.4 and 345.6 million are printed as 86, 345 or 346. 691 million are a day of 125 us.
            let possible = f64::from(cycles) <= fit.ceil() && (cycles != 691 || row.period_us == 125);
            assert!(possible || row.slip.is_some(), "{} {} us: {cycles} of {fit}", machine.sku, row.period_us);
        }
    }
}

#[test]
fn masks_that_were_measured_fit_the_masks_of_appendix_d() {
    let guide = catalogue();
    for machine in &guide.measurements {
        for masks in &machine.masks {
            assert_eq!(masks.real_time & masks.others, 0, "{}: classes overlap", machine.sku);
            for mask in [masks.real_time, masks.others] {
                let low = mask >> mask.trailing_zeros();
                assert!((low + 1).is_power_of_two(), "{}: {mask:#x} has holes", machine.sku);
            }
            if masks.level == 3
                && let Some(known) = guide.masks.iter().find(|mask| mask.sku == machine.sku)
            {
                assert_eq!(masks.real_time | masks.others, known.mask, "{}", machine.sku);
            }
        }
    }
}

#[test]
fn cores_agree_between_tables() {
    let guide = catalogue();
    for machine in &guide.measurements {
        let Some(processor) = guide.processors.iter().find(|row| row.sku == machine.sku) else {
            assert_eq!(machine.sku, "D-2896TER", "measured and in no list");
            continue;
        };
        assert_eq!(processor.cores, machine.cores, "{}", machine.sku);
        assert!(machine.real_time_cores.iter().all(|core| *core < machine.cores), "{}", machine.sku);
    }
    for shift in &guide.speed_shift {
        for sku in &shift.skus {
            let processor = guide.processors.iter().find(|row| row.sku == *sku).expect(sku);
            assert_eq!(processor.cores, shift.performance_cores + shift.efficiency_cores, "{sku}");
            assert_eq!(processor.efficiency_cores, Some(shift.efficiency_cores), "{sku}");
            assert!(guide.masks.iter().any(|mask| mask.sku == *sku), "{sku}");
        }
    }
    let twice: BTreeSet<_> = guide.processors.iter().map(|row| &row.sku).collect();
    assert_eq!(twice.len(), guide.processors.len(), "a processor is listed twice");
    let twice: BTreeSet<_> = guide.masks.iter().map(|row| &row.sku).collect();
    assert_eq!(twice.len(), guide.masks.len(), "a mask is listed twice");
}

#[test]
fn masks_are_of_processors_with_tcc() {
    let guide = catalogue();
    for mask in &guide.masks {
        assert!(guide.processors.iter().any(|row| row.sku == mask.sku), "{} is in no list of processors", mask.sku);
    }
}

/// Ratio = GHz times units, cut off: 3.6 x 12.7 = 45.72, which the guide rounds to 46 = 0x2e; 2.5 x 12.7 = 31.75 to 32 = 0x20;
/// 1.8 x 10 = 18 = 0x12; 4.0 x 10 = 40 = 0x28.
#[test]
fn registers_ask_for_the_frequencies_that_they_are_said_to() {
    for register in &catalogue().speed_shift_registers {
        let (Some(ghz), Some(units)) = (register.ghz, register.ratio_per_ghz) else { continue };
        let value = u64::from_str_radix(register.value.trim_start_matches("0x"), 16).unwrap();
        assert_eq!(value >> 8 & 0xff, (ghz * units).round() as u64, "{} of {}", register.name, register.cores);
        if register.name == "MSR_RING_RATIO_LIMIT" {
            assert_eq!(value & 0xff, value >> 8 & 0xff);
        }
    }
}

/// FIT is failures in 10^9 hours: 8760 hours a year, in percent.
#[test]
fn failures_follow_from_their_rates() {
    for row in &catalogue().reliability {
        assert_eq!(row.years.len(), row.fit.len());
        for ((years, fit), percent) in row.years.iter().zip(&row.fit).zip(&row.cumulative_percent) {
            let expected = f64::from(*fit) * 1e-9 * f64::from(*years) * 8760.0 * 100.0;
            let printed: f64 = percent.trim_start_matches('<').parse().unwrap();
            assert!(
                (expected - printed).abs() <= 0.011,
                "{} after {years} years: {expected} and {printed}",
                row.conditions
            );
        }
    }
}

#[test]
fn slips_say_something_else_than_what_is_right() {
    let guide = catalogue();
    let mut slips = Vec::new();
    slips.extend(guide.text_slips.iter().map(|row| &row.slip));
    slips.extend(guide.processors.iter().filter_map(|row| row.slip.as_ref()));
    slips.extend(guide.masks.iter().filter_map(|row| row.slip.as_ref()));
    slips.extend(guide.firmware.iter().filter_map(|row| row.slip.as_ref()));
    slips.extend(guide.timed_gpio.iter().filter_map(|row| row.slip.as_ref()));
    slips.extend(
        guide.measurements.iter().flat_map(|row| row.results.iter().map(|row| &row.slip).chain([&row.slip])).flatten(),
    );
    for slip in &slips {
        assert_ne!(slip.prints, slip.right);
        assert!(!slip.why.is_empty(), "{}", slip.prints);
    }
    // Known ones.
    let prints = |text: &str| slips.iter().any(|slip| slip.prints.contains(text));
    for text in ["12 (0xFFFF)", "0x10000000", "irqaffinity=02", "L2 Cache", "wrmsr -p 3", "i9-13900T"] {
        assert!(prints(text), "{text}");
    }
}

#[test]
fn processors_are_found_however_they_are_spelled() {
    let sku = |name: &str| match catalogue().find(name) {
        SkuMatch::One(entry) => entry.sku,
        SkuMatch::Near(names) => panic!("{name}: {names:?}"),
    };
    for name in ["i7-13800HRE", "13800HRE", "13800hre", "I7 13800hre", "13th Gen Intel(R) Core(TM) i7-13800HRE"] {
        assert_eq!(sku(name), "i7-13800HRE", "{name}");
    }
    assert_eq!(sku("Intel(R) Xeon(R) D-2752TER CPU @ 1.80GHz"), "D-2752TER");
    assert_eq!(sku("6427FE"), "x6427FE");
    // A number that is the whole of one and a part of others is that one.
    assert_eq!(sku("i9-14900"), "i9-14900");
}

#[test]
fn what_is_not_found_gets_suggestions() {
    let near = |name: &str| match catalogue().find(name) {
        SkuMatch::Near(names) => names,
        SkuMatch::One(entry) => panic!("{name}: {}", entry.sku),
    };
    assert!(near("13800HXE").contains(&"i7-13800HRE".to_owned()));
    assert!(near("i7-1185GRF").contains(&"i7-1185GRE".to_owned()));
    let family = near("i7");
    assert!(family.len() > 5 && family.iter().all(|sku| sku.starts_with("i7-")), "{family:?}");
    let several = near("13800H");
    assert_eq!(several, ["i7-13800HE", "i7-13800HRE"]);
    assert_eq!(near("Ryzen 9 7950X"), Vec::<String>::new());
    assert_eq!(near(""), Vec::<String>::new());
}

#[test]
fn an_entry_has_what_every_table_says_of_it() {
    let SkuMatch::One(entry) = catalogue().find("13800HRE") else { panic!() };
    let processor = entry.processor.unwrap();
    assert_eq!((processor.cores, processor.efficiency_cores), (14, Some(8)));
    let mask = entry.mask.unwrap();
    assert_eq!((mask.level, mask.classes, mask.bits), (3, 16, 12));
    assert_eq!(entry.firmware.unwrap().section, "B.2.1");
    assert_eq!(entry.timed_gpio[0].section, "C.2.3");
    assert_eq!(entry.measurements[0].masks[0].real_time, 0x3f);
    assert_eq!(entry.speed_shift.unwrap().raised_ghz, 3.6);
    assert!(entry.registers.iter().any(|register| register.value == "0xf0000000002e2e2e"));
    assert!(catalogue().of_brand("AMD EPYC 7313P 16-Core Processor").is_none());
    assert_eq!(catalogue().of_brand("Intel(R) Core(TM) i9-14900T").unwrap().sku, "i9-14900T");
}
