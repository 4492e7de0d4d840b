//! Files of each tool, shortened, with figures worked out by hand; and texts that are none.

use proptest::prelude::*;
use waykeeper_imports::{Imported, conclude, read};

/// Of cyclictest 2.40; two cycles of the first thread were longer than its histogram, which also follows as text. The second one
/// had counted a cycle that was not in the histogram yet.
const CYCLICTEST: &str = r#"{
  "file_version": 1,
  "cmdline:": "cyclictest -a2-3 -t2 -m -p99 -i 6250000 -h 30 -q -D 60 --json=day.json",
  "rt_test_version:": "2.40",
  "start_time": "Thu, 26 Nov 2026 17:57:30 +0000",
  "end_time": "Thu, 26 Nov 2026 17:58:30 +0000",
  "return_code": 0,
  "sysinfo": { "sysname": "Linux", "nodename": "vm", "release": "6.1.0-rt", "version": "1", "machine": "x86_64", "realtime": 1 },
  "num_threads": 2,
  "resolution_in_ns": 0,
  "thread": {
    "0": { "histogram": { "8": 3, "20": 5 }, "cycles": 10, "min": 8, "max": 150, "avg": 42.4, "cpu": 2, "node": 0 },
    "1": { "histogram": { "9": 4 }, "cycles": 5, "min": 9, "max": 9, "avg": 9.0, "cpu": 3, "node": 0 }
  }
}
# Histogram
000000 000000	000000
"#;

/// Of oslat 2.40: its last bucket holds all that is longer.
const OSLAT: &str = r#"{
  "cmdline:": "/usr/bin/oslat -c 1 -D 1 --json=/dev/stdout -q",
  "rt_test_version:": "2.40",
  "start_time": "Thu, 26 Nov 2026 18:27:38 +0000",
  "end_time": "Thu, 26 Nov 2026 18:27:40 +0000",
  "sysinfo": { "release": "6.1.0", "machine": "x86_64" },
  "num_threads": 1,
  "thread": {
    "0": { "cpu": 1, "freq": 2597, "min": 1, "avg": 1.02, "max": 9338, "duration": 1.026,
           "histogram": { "1": 90, "2": 8, "32": 2 } }
  }
}"#;

/// Of jitterdebugger 0.3.1 with -N: nanoseconds, and no length.
const JITTERDEBUGGER: &str = r#"{
  "version": 3,
  "sysinfo": { "sysname": "Linux", "release": "6.1.0", "machine": "aarch64", "cpus_online": 2, "resolution_in_ns": 1 },
  "cpu": {
    "0": { "histogram": { "13231": 1, "13233": 3 }, "count": 4, "min": 13231, "max": 13233, "avg": 13232.5 },
    "1": { "histogram": { "12805": 2 }, "count": 2, "min": 12805, "max": 12805, "avg": 12805.00 }
  }
}"#;

/// In the form of rtla's documentation.
const TIMERLAT: &str = "\
# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   1 00:01:40
Index   IRQ-000   Thr-000   IRQ-001   Thr-001
0            28         0         -         -
1            52         7         -         -
33            0         1         -         -
over:         0         2         -         -
count:       80        10         -         -
min:          0         1         -         -
avg:          0         5         -         -
max:          1        70         -         -
";

fn samples(imported: &Imported) -> Vec<(String, u64, Option<u64>)> {
    imported.histograms.iter().map(|it| (it.name.clone(), it.samples(), it.max)).collect()
}

#[test]
fn cyclictest_counts_what_lies_beyond_its_histogram() {
    let imported = read(CYCLICTEST).unwrap();
    assert_eq!(samples(&imported), [("core 2".into(), 10, Some(150)), ("core 3".into(), 4, Some(9))]);
    assert_eq!(imported.histograms[0].length_s, Some(60.0));
    assert_eq!((imported.tool.as_str(), imported.kernel.as_deref()), ("cyclictest", Some("6.1.0-rt")));
    let budget = "max<=100us".parse().unwrap();
    let run = conclude(&imported, "day.json", None, &[budget], Vec::new()).unwrap().record;
    let [first, second] = run.cases.as_slice() else { panic!("{run:?}") };
    // 42.4 us over ten cycles, and 150 us the longest.
    assert_eq!((first.samples, first.core, first.run_length_s), (10, 2, 60.0));
    assert_eq!((first.mean_ns, first.min_ns, first.max_ns), (Some(42_400.0), Some(8_000.0), Some(150_000.0)));
    assert_eq!((second.mean_ns, second.jitter_ns), (Some(9_000.0), Some(0.0)));
    assert_eq!(first.repeats[0].max_at_s, None);
    // Of 150 us two samples: over the limit. Of the other core none, and four samples show little.
    let kinds: Vec<_> = run.budgets.iter().map(|judged| judged.kind.to_string()).collect();
    assert_eq!(kinds, ["broken", "too thin to say"]);
    assert!(run.notes.iter().any(|note| note.starts_with("2 samples lie beyond")), "{:?}", run.notes);
    assert_eq!(run.started, "2026-11-26T17:57:30Z");
}

/// oslat counts a sample of less than 1 us as 1 us: what it says is the most, and here stands the least.
#[test]
fn oslat_rounds_up_and_an_import_rounds_down() {
    let judged = |budget: &str| {
        let budgets = [budget.parse().unwrap()];
        conclude(&read(OSLAT).unwrap(), "x.json", None, &budgets, Vec::new()).unwrap().record.budgets[0].text.clone()
    };
    // Of 90 samples it is known that they are below 1 us, and the largest is at most 9338 us.
    for unclear in ["min<=500ns", "p50<=500ns", "mean<=1us", "max<=9337us@0.5"] {
        assert!(judged(unclear).starts_with("too thin to say"), "{unclear}: {}", judged(unclear));
    }
    let (kept, broken) = (judged("max<=9338us@0.5"), judged("max<=9336us@0.5"));
    assert!(kept.starts_with("not seen broken") && broken.starts_with("broken"), "{kept}; {broken}");
    let record = conclude(&read(OSLAT).unwrap(), "x.json", None, &[], Vec::new()).unwrap().record;
    assert!(record.notes.iter().any(|note| note.starts_with("oslat rounds up")), "{:?}", record.notes);
    for (option, key) in [("-W 2000", "1"), ("--bucket-width=500", "0.500")] {
        let wide = OSLAT.replace("-c 1", option).replace("\"1\": 90", &format!("\"{key}\": 90"));
        assert!(read(&wide).unwrap_err().starts_with("oslat ran with --bucket-width"), "{wide}");
    }
}

#[test]
fn samples_beyond_the_histogram_are_counted_as_a_range() {
    // Two samples lie beyond 20 us, and one of them is known: 150 us.
    let judged = |text: &str, budget: &str| {
        let budgets = [budget.parse().unwrap()];
        conclude(&read(text).unwrap(), "x.json", None, &budgets, Vec::new()).unwrap().record.budgets[0].text.clone()
    };
    assert!(judged(CYCLICTEST, "max<=100us").starts_with("broken: 1 to 2 of 10 samples over 100 us"));
    assert!(judged(CYCLICTEST, "max<=20us").starts_with("broken: 2 of 10 samples over 20 us"));
    // All lie beyond it: the smallest, 300 us, is not 10 us above itself.
    let none = r#"Index Thr-000
over: 60000
count: 60000
min: 300
avg: 400
max: 900
"#;
    let text = format!("# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n{none}");
    assert!(
        judged(&text, "max<=899us").starts_with("broken: 1 to 60000 of 60000 samples"),
        "{}",
        judged(&text, "max<=899us")
    );
    assert!(
        judged(&text, "max<=200us").starts_with("broken: 60000 of 60000 samples"),
        "{}",
        judged(&text, "max<=200us")
    );
    let text = text
        .replace("Thr-000\n", "Thr-000\n2 1\n4 0\n")
        .replace("count: 60000", "count: 60001")
        .replace("min: 300", "min: 2");
    assert!(
        judged(&text, "jitter<=10us").starts_with("broken: 1 to 60000 of 60001 samples"),
        "{}",
        judged(&text, "jitter<=10us")
    );
}

#[test]
fn a_file_with_two_results_is_refused() {
    for two in [format!("{CYCLICTEST}{CYCLICTEST}"), format!("{OSLAT}{OSLAT}"), format!("{TIMERLAT}{TIMERLAT}")] {
        assert!(read(&two).unwrap_err().contains("more than one measurement"));
    }
    assert!(read(&format!("Warning: no BTF\n{TIMERLAT}rtla timerlat hit stop tracing\n## CPU 1 hit\n")).is_ok());
}

#[test]
fn fewer_samples_than_half_of_the_time_holds_are_refused() {
    let thread = |samples: u64, line: &str| {
        let figures = format!(r#""histogram": {{ "10": {samples} }}, "cycles": {samples}, "min": 10, "max": 10"#);
        read(&of_one_thread(&figures, line, 20))
    };
    assert!(thread(20_000, "cyclictest -i 1000 -D 20").is_ok());
    // Wake-ups that came too late are left out, up to half of them.
    assert!(thread(10_000, "cyclictest -i 1000 -D 20").is_ok());
    let refused = thread(2_000, "cyclictest -i 1000 -D 20").unwrap_err();
    assert!(refused.contains("2000 samples, one every 1000 us, which takes 2 s"), "{refused}");
    assert!(refused.contains("its thread was starved, or the file is changed or damaged"), "{refused}");
    // Its interval is 1000 us unless another one is asked for.
    assert!(thread(10_000, "cyclictest -D 20").is_ok());
    assert!(thread(2_000, "cyclictest -D 20").is_err_and(|why| why.contains("2000 samples, one every 1000 us")));
    // The second thread wakes up every 11 ms.
    let second = |line: &str| {
        let figures = r#""histogram": { "10": 1800 }, "cycles": 1800, "min": 10, "max": 10"#;
        read(&of_one_thread(figures, line, 20).replace("\"0\": { \"hist", "\"1\": { \"hist"))
    };
    assert!(second("cyclictest -i 1000 -d 10000 -D 20").is_ok());
    assert!(second("cyclictest -i 1000 -D 20").is_err());
    // With a histogram cyclictest sets the distance to 0.
    assert!(second("cyclictest -i 1000 -d 10000 -D 20 -h 400").is_err());
    // It ends by itself after so many; with fewer it was starved, or stopped.
    assert!(thread(2_000, "cyclictest -i 1000 -l 2000").is_ok());
    assert!(thread(2_000, "cyclictest -l 20000").is_err());
}

#[test]
fn the_last_bucket_of_oslat_is_no_value() {
    let imported = read(OSLAT).unwrap();
    let histogram = &imported.histograms[0];
    assert_eq!((histogram.counts.as_slice(), histogram.beyond), (&[(0, 90), (1, 8)][..], 2));
    assert_eq!((histogram.core, histogram.max, histogram.length_s), (1, Some(9337), Some(1.026)));
    let run = conclude(&imported, "oslat.json", None, &[], Vec::new()).unwrap().record;
    assert_eq!((run.cases[0].samples, run.cases[0].max_ns), (100, Some(9_337_000.0)));
}

#[test]
fn jitterdebugger_does_not_say_how_long_it_ran() {
    let imported = read(JITTERDEBUGGER).unwrap();
    assert_eq!(samples(&imported), [("core 0".into(), 4, Some(13_233)), ("core 1".into(), 2, Some(12_805))]);
    let refused = conclude(&imported, "results.json", None, &[], Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("expected --duration"), "{refused}");
    let run = conclude(&imported, "results.json", Some(20.0), &[], Vec::new()).unwrap().record;
    assert_eq!((run.cases[0].mean_ns, run.cases[0].run_length_s), (Some(13_232.5), 20.0));
    assert_eq!(run.machine.architecture, "aarch64");
}

#[test]
fn a_column_of_rtla_is_a_case_and_an_empty_one_too() {
    let imported = read(TIMERLAT).unwrap();
    let named = |name: &str| imported.histograms.iter().find(|it| it.name == name).unwrap();
    assert_eq!((named("Thr-000").samples(), named("Thr-000").beyond, named("Thr-000").max), (10, 2, Some(70)));
    assert_eq!(named("IRQ-000").counts, [(0, 28), (1, 52)]);
    let run = conclude(&imported, "timerlat.txt", None, &[], Vec::new()).unwrap().record;
    let names: Vec<_> = run.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["IRQ-000", "Thr-000", "IRQ-001", "Thr-001"]);
    assert!(run.notes.iter().any(|note| note.starts_with("IRQ-001, Thr-001 have no sample")), "{:?}", run.notes);
    // A day, a minute and forty seconds.
    assert_eq!(run.cases[1].run_length_s, 86_500.0);
    assert_eq!((run.cases[1].max_ns, run.cases[1].core), (Some(70_000.0), 0));
}

#[test]
fn a_length_that_is_typed_does_not_replace_that_of_the_file() {
    for (text, said) in [(CYCLICTEST, "for 60 s"), (OSLAT, "for 1.03 s"), (TIMERLAT, "for 86500 s")] {
        let imported = read(text).unwrap();
        let refused = conclude(&imported, "x", Some(356_400.0), &[], Vec::new()).unwrap_err().to_string();
        assert!(refused.contains("found 356400 s") && refused.contains(said), "{refused}");
    }
    // The same in whole seconds is no contradiction, and the file's is taken.
    let run = conclude(&read(OSLAT).unwrap(), "x", Some(1.0), &[], Vec::new()).unwrap().record;
    assert_eq!(run.cases[0].run_length_s, 1.026);
}

#[test]
fn samples_are_as_many_as_the_tool_counted() {
    let with = |cycles: u64| {
        // It ends after as many.
        CYCLICTEST.replace("-D 60", "-D 60 -l 3").replace("\"cycles\": 5", &format!("\"cycles\": {cycles}"))
    };
    assert!(read(&with(4)).unwrap().histograms.iter().all(|histogram| histogram.missing == 0));
    for (cycles, words) in [(3, "core 3 has 4 samples in 3 cycles"), (6, "core 3 has 4 samples of 6 cycles")] {
        let refused = read(&with(cycles)).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
    // The last cycle may have been counted as the tool ended.
    let imported = read(CYCLICTEST).unwrap();
    assert_eq!(imported.histograms[1].missing, 1);
    let run = conclude(&imported, "day.json", None, &[], Vec::new()).unwrap().record;
    assert!(run.notes.iter().any(|note| note.starts_with("1 cycle that the tool counted is not")), "{:?}", run.notes);
    let more = JITTERDEBUGGER.replace("\"count\": 2", "\"count\": 1");
    assert!(read(&more).unwrap_err().contains("core 1 has 2 samples in 1 cycles"));
    let fewer = TIMERLAT.replace("count:       80", "count:       90");
    assert!(read(&fewer).unwrap_err().contains("IRQ-000 has 80 samples of 90 cycles"));
}

#[test]
fn what_is_no_histogram_says_what_was_found() {
    for (text, words) in [
        ("", "found ``"),
        ("hello", "found `hello`"),
        ("{}", "neither `thread` nor `cpu`"),
        ("{ \"thread\": 3 }", "`thread`: found `3`, expected a table"),
        ("{ \"thread\"", "the JSON cannot be read"),
        ("{ \"cmdline:\": \"hwlat\", \"thread\": {} }", "results of `hwlat`"),
        ("{ \"cmdline:\": \"cyclictest\", \"thread\": { \"0\": { \"cycles\": 0 } } }", "has no sample"),
        ("# RTLA timerlat histogram\n", "no line that begins with `Index`"),
        ("# RTLA timerlat histogram\n0 1\n", "line 2: found `0 1`"),
        ("# RTLA timerlat histogram\nIndex IRQ-000\n0 1 2\n", "line 3: found `0 1 2`; expected 1 values"),
        ("# RTLA timerlat histogram\nIndex IRQ-x\n", "line 2: found the column `IRQ-x`"),
        ("# RTLA timerlat histogram\nIndex IRQ-000\nx 1\n", "line 3"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains(words), "{text:?}: {refused}");
    }
}

proptest! {
    #[test]
    fn hostile_texts_are_refused_or_read_and_never_panic(text in "\\PC{0,200}", cut in 0_usize..900, value in any::<u64>()) {
        let _ = read(&text);
        let huge = CYCLICTEST.replace("150", &value.to_string()).replace("\"5\"", &value.to_string());
        for whole in [huge.as_str(), OSLAT, JITTERDEBUGGER, TIMERLAT] {
            let at = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
            for part in [whole, &whole[..at]] {
                if let Ok(imported) = read(part) {
                    let _ = conclude(&imported, "x", Some(1.0), &["max<=1us".parse().unwrap()], Vec::new());
                }
            }
        }
    }
}

/// A file of cyclictest with a thread like this, and these stamps and this command line.
fn of_one_thread(thread: &str, line: &str, seconds: u32) -> String {
    format!(
        r#"{{ "cmdline:": "{line}", "start_time": "Thu, 26 Nov 2026 17:57:30 +0000",
           "end_time": "Thu, 26 Nov 2026 17:57:{} +0000", "thread": {{ "0": {{ {thread}, "cpu": 2 }} }} }}"#,
        30 + seconds
    )
}

#[test]
fn a_mean_that_its_histogram_cannot_have_is_refused() {
    // 60 of 10 us and 40 of 20 us: a mean from 14 to 15 us, as each may be up to 1 us longer; a mean can be cut to whole steps.
    let thread = |avg: &str| {
        let histogram = r#""histogram": { "10": 60, "20": 40 }, "cycles": 100, "min": 10, "max": 20"#;
        of_one_thread(&format!("{histogram}, \"avg\": {avg}"), "cyclictest -D 5", 5)
    };
    for right in ["14", "14.00", "14.9", "13.5"] {
        assert!(read(&thread(right)).is_ok(), "{right}");
    }
    for wrong in ["0.5", "-3", "12.9", "16.1", "1e300"] {
        let refused = read(&thread(wrong)).unwrap_err();
        assert!(refused.contains("has a mean of") && refused.contains("from 13.0 to 16.0"), "{wrong}: {refused}");
    }
}

#[test]
fn a_length_is_the_least_that_the_stamps_allow_or_what_the_program_was_told() {
    let length = |line: &str, seconds| {
        let thread = r#""histogram": { "10": 100 }, "cycles": 100, "min": 10, "max": 10"#;
        read(&of_one_thread(thread, line, seconds)).unwrap().histograms[0].length_s
    };
    for line in ["cyclictest -D 5", "cyclictest -D5 -q", "cyclictest --duration=5s", "cyclictest -q --duration 5"] {
        assert_eq!([5, 6].map(|seconds| length(line, seconds)), [Some(5.0); 2], "{line}");
    }
    // It was stopped before its time, or nobody told it one.
    assert_eq!(length("cyclictest -D 1h", 6), Some(5.0));
    assert_eq!(length("cyclictest -l 1000", 6), Some(5.0));
    assert_eq!(length("cyclictest -l 1000", 1), None);
}

#[test]
fn a_limit_within_a_step_of_the_largest_is_not_called_kept() {
    let text = of_one_thread(
        r#""histogram": { "10": 39900, "50": 100 }, "cycles": 40000, "min": 10, "max": 50, "avg": 10.1"#,
        "cyclictest -i 125 -D 5",
        5,
    );
    let judged = |budget: &str| {
        let budgets = [budget.parse().unwrap()];
        conclude(&read(&text).unwrap(), "x.json", None, &budgets, Vec::new()).unwrap().record.budgets[0].text.clone()
    };
    // 50 is from 50.0 to just below 51 us.
    for unclear in ["max<=50us", "jitter<=40us", "p99.9<=50us", "p50<=10us"] {
        assert!(judged(unclear).starts_with("too thin to say: the samples are rounded down"), "{}", judged(unclear));
    }
    for kept in ["max<=51us", "jitter<=41us", "p99.9<=51us", "p50<=11us"] {
        assert!(judged(kept).starts_with("not seen broken"), "{kept}: {}", judged(kept));
    }
    for broken in ["max<=49us", "p50<=9us"] {
        assert!(judged(broken).starts_with("broken"), "{broken}: {}", judged(broken));
    }
}

#[test]
fn extremes_that_a_histogram_cannot_have_are_refused() {
    let thread = |extremes: &str| {
        let histogram = r#""histogram": { "10": 60, "986": 40 }, "cycles": 100, "#;
        of_one_thread(&format!("{histogram}{extremes}"), "cyclictest -D 5", 5)
    };
    assert!(read(&thread(r#""min": 10, "max": 986"#)).is_ok());
    for (wrong, words) in [
        (r#""min": 10, "max": 5"#, "a minimum of 10 steps, and a maximum of 5"),
        (r#""min": 500, "max": 986"#, "a minimum of 500 steps, and its histogram begins at 10"),
        (r#""min": 2, "max": 986"#, "a minimum of 2 steps, and its histogram begins at 10"),
        (r#""min": 10, "max": 900"#, "a maximum of 900 steps, and its histogram ends at 986"),
        (r#""min": 10, "max": 5000"#, "a maximum of 5000 steps, and its histogram ends at 986"),
    ] {
        let refused = read(&thread(wrong)).unwrap_err();
        assert!(refused.contains(words) && refused.contains("changed or damaged"), "{wrong}: {refused}");
    }
    // One cycle that is missing may have been the longest; none is longer than all of the measuring.
    let missing = thread(r#""min": 10, "max": 9000000"#).replace("\"cycles\": 100", "\"cycles\": 101");
    let refused = conclude(&read(&missing).unwrap(), "x.json", None, &[], Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("a maximum of 9") && refused.contains("measured for 5 s"), "{refused}");
}

#[test]
fn a_value_that_no_tool_writes_is_named_with_its_key() {
    let negative = of_one_thread(r#""histogram": { "10": -3 }, "cycles": 100"#, "cyclictest -D 5", 5);
    let refused = read(&negative).unwrap_err();
    let words = "`thread.0.histogram.10`: found `-3`, expected a whole number of 0 or more; expected the JSON of";
    assert!(refused.starts_with(words), "{refused}");
}

#[test]
fn more_samples_than_wake_ups_are_refused() {
    let thread = |samples: u64, line: &str| {
        let figures = format!(r#""histogram": {{ "10": {samples} }}, "cycles": {samples}, "min": 10, "max": 10"#);
        read(&of_one_thread(&figures, line, 20))
    };
    // A wake-up every millisecond: 20 thousand in 20 s, and a few in the seconds at both ends that the file does not name.
    for line in [
        "cyclictest -i1000 -D 20",
        "cyclictest -D 20 -i 1000",
        "cyclictest --interval=1000 -D 20",
        "cyclictest -qmi1000 -D 20",
    ] {
        for samples in [20_000, 19_000, 22_500] {
            assert!(thread(samples, line).is_ok(), "{line}: {samples}");
        }
        let refused = thread(86_400_000, line).unwrap_err();
        assert!(refused.contains("86400000 samples, and 20 s have 20000 wake-ups, one every 1000 us"), "{refused}");
    }
    assert!(thread(20_000_000, "cyclictest -i1 -D 20").is_ok());
    // A line without one has an interval of 1000 us. Of one that is no number nothing is known but that it is 1 us or more.
    let refused = thread(86_400_000, "cyclictest -D 20").unwrap_err();
    assert!(refused.contains("20000 wake-ups, one every 1000 us"), "{refused}");
    let line = "cyclictest -D 20 -i x";
    assert!(thread(20_000_000, line).is_ok());
    assert!(thread(86_400_000, line).unwrap_err().contains("20000000 wake-ups, one every 1 us"));
}

#[test]
fn rtla_is_read_whole_or_not_and_its_buckets_may_be_wide() {
    for row in ["over:", "count:", "min:", "avg:", "max:"] {
        let cut: String =
            TIMERLAT.lines().filter(|line| !line.starts_with(row)).map(|line| format!("{line}\n")).collect();
        let refused = read(&cut).unwrap_err();
        assert!(refused.contains(&format!("no row `{row}`")), "{refused}");
    }
    let wide = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:40\nIndex Thr-000\n\
        0 500\n5 2000\n15 500\nover: 0\ncount: 3000\nmin: 4\navg: 9\nmax: 19\n";
    let imported = read(wide).unwrap();
    assert_eq!(imported.histograms[0].bucket, 5);
    // The extremes are known to a step, 4 to 5 and 19 to 20 us, and the others to a bucket: the median lies between 5 and 10 us.
    let judged = |budget: &str| {
        let budgets = [budget.parse().unwrap()];
        conclude(&imported, "x", None, &budgets, Vec::new()).unwrap().record.budgets[0].text.clone()
    };
    for (budget, says) in [
        ("max<=19us@0.2", "too thin to say: the samples are rounded down to whole steps of 1 us"),
        ("max<=20us@0.2", "not seen broken"),
        ("max<=18us@0.2", "broken"),
        ("p50<=9us", "too thin to say: the samples are rounded down to whole steps of 5 us"),
        ("p50<=10us", "not seen broken"),
        ("jitter<=13us@0.2", "broken"),
        (
            "jitter<=14500ns@0.2",
            "too thin to say: the samples are rounded down to whole steps of 1 us, and with one step less",
        ),
        ("jitter<=16us@0.2", "not seen broken"),
    ] {
        assert!(judged(budget).starts_with(says), "{budget}: {}", judged(budget));
    }
    // rtla cuts its mean to whole steps: 500 of 0, 2000 of 5 and 500 of 15 us, each or more.
    let cut = conclude(&read(&wide.replace("avg: 9", "avg: 5")).unwrap(), "x", None, &[], Vec::new()).unwrap().record;
    assert!((cut.cases[0].mean_ns.unwrap() - 17_500.0 / 3.0).abs() < 1.0, "{:?}", cut.cases[0].mean_ns);
}

#[test]
fn samples_beyond_the_histogram_break_no_percentile_that_they_may_keep() {
    // 40 from 10 us, 60 beyond, of which the longest has 2000 us.
    let text = of_one_thread(
        r#""histogram": { "10": 40000 }, "cycles": 100000, "min": 10, "max": 2000"#,
        "cyclictest -h 20 -i 50 -D 5",
        5,
    );
    let budgets = ["p50<=5us", "p50<=100us", "p99<=3ms"].map(|budget| budget.parse().unwrap());
    let run = conclude(&read(&text).unwrap(), "x.json", None, &budgets, Vec::new()).unwrap().record;
    let texts: Vec<&str> = run.budgets.iter().map(|budget| budget.text.as_str()).collect();
    assert!(texts[0].starts_with("broken: 100000 of 100000 samples over 5 us"), "{texts:?}");
    assert!(
        texts[1].starts_with("too thin to say: 1 of 100000 samples over 100 us, and 59999 more may be"),
        "{texts:?}"
    );
    // None is longer than the longest.
    assert!(texts[2].starts_with("not seen broken"), "{texts:?}");
    assert_eq!((run.cases[0].p50_ns, run.cases[0].overflow), (None, 60_000));
    // Without a histogram nothing is known of any.
    let none = of_one_thread(r#""histogram": {}, "cycles": 100, "min": 10, "max": 200"#, "cyclictest -D 5", 5);
    assert!(read(&none).unwrap_err().contains("--histogram"));
    // Two threads on a core have a name each.
    let two = CYCLICTEST.replace("\"cpu\": 3", "\"cpu\": 2");
    let names: Vec<String> = read(&two).unwrap().histograms.iter().map(|histogram| histogram.name.clone()).collect();
    assert_eq!(names, ["core 2, thread 0", "core 2, thread 1"]);
}

/// The thread of core 3 counted no cycle, as cyclictest 2.40 writes it: its mean is 0 divided by 0.
const STARVED: &str = r#"{
  "cmdline:": "cyclictest -a2-3 -t2 -q -h1000 -D 10 --json=x.json",
  "start_time": "Sat, 28 Nov 2026 15:00:00 +0000", "end_time": "Sat, 28 Nov 2026 15:00:10 +0000",
  "return_code": 0, "num_threads": 2,
  "thread": {
    "0": { "histogram": { "2": 10000 }, "cycles": 10000, "min": 2, "max": 2, "avg": 2.00, "cpu": 2, "node": 0 },
    "1": { "histogram": { }, "cycles": 0, "min": 1000000, "max": 0, "avg": -nan, "cpu": 3, "node": 0 }
  }
}"#;

#[test]
fn what_has_no_sample_is_a_case_whose_budgets_are_too_thin_to_say() {
    let oslat = OSLAT.replace("\"num_threads\": 1", "\"num_threads\": 2").replace(
        "\"32\": 2 } }",
        "\"32\": 2 } }, \"1\": { \"cpu\": 2, \"min\": 18446744073709551615, \"avg\": -nan, \"max\": 0, \"duration\": 1.026, \"histogram\": {} }",
    );
    let jitterdebugger = JITTERDEBUGGER.replace(
        "{ \"12805\": 2 }, \"count\": 2, \"min\": 12805, \"max\": 12805, \"avg\": 12805.00",
        "{ }, \"count\": 0, \"min\": 0, \"max\": 0, \"avg\": nan",
    );
    let rtla = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:10\nIndex IRQ-001 Thr-001\n\
        2 10000 0\nover: 0 0\ncount: 10000 0\nmin: 2 -\navg: 2 -\nmax: 2 -\n";
    let in_loops = STARVED.replace("-D 10", "-D 10 -l 10000 -i1000");
    for (text, length_s, starved) in [
        (STARVED, None, "core 3"),
        (&STARVED.replace("-nan", "0"), None, "core 3"),
        (&in_loops, None, "core 3"),
        (&oslat, None, "core 2"),
        (&jitterdebugger, Some(10.0), "core 1"),
        (rtla, None, "Thr-001"),
    ] {
        let imported = read(text).unwrap();
        let budget = "max<=20ms@0.9".parse().unwrap();
        let run = conclude(&imported, "x.json", length_s, &[budget], Vec::new()).unwrap().record;
        let case = &run.cases[1];
        assert_eq!(
            (case.name.as_str(), case.samples, case.min_ns, case.max_ns, case.mean_ns),
            (starved, 0, None, None, None)
        );
        let kinds: Vec<_> = run.budgets.iter().map(|judged| judged.kind.to_string()).collect();
        assert_eq!(kinds, ["not seen broken", "too thin to say"], "{starved}: {:?}", run.budgets);
        assert_eq!(run.budgets[1].text, "too thin to say: there are no samples");
        assert!(run.notes.iter().any(|note| note.starts_with(&format!("{starved} has no sample"))), "{:?}", run.notes);
    }
    // Where no thread has one, nothing was measured.
    let none =
        STARVED.replace("{ \"2\": 10000 }, \"cycles\": 10000", "{}, \"cycles\": 0").replace("\"max\": 2", "\"max\": 0");
    assert!(read(&none).unwrap_err().contains("has no sample; expected"), "{:?}", read(&none));
    let longer = STARVED.replace("\"max\": 0", "\"max\": 60");
    assert!(read(&longer).unwrap_err().contains("core 3 has a maximum of 60 steps, and no sample"));
    let counted =
        JITTERDEBUGGER.replace("{ \"12805\": 2 }, \"count\": 2, \"min\": 12805, \"max\": 12805", "{ }, \"count\": 5");
    assert!(read(&counted).unwrap_err().contains("core 1 has no sample of 5 cycles"), "{:?}", read(&counted));
}

#[test]
fn threads_are_as_many_as_the_file_says_and_each_stands_once() {
    let refused = read(&STARVED.replace("\"num_threads\": 2", "\"num_threads\": 3")).unwrap_err();
    assert!(refused.contains("`num_threads` is 3, and `thread` has 2") && refused.contains("damaged"), "{refused}");
    let oslat = OSLAT.replace("\"num_threads\": 1", "\"num_threads\": 2");
    assert!(read(&oslat).unwrap_err().contains("`num_threads` is 2"));
    for (text, key) in [
        (STARVED.replace("\"1\": {", "\"0\": {"), "0"),
        (STARVED.replace("\"1\": {", "\"0 \": {"), "0"),
        (JITTERDEBUGGER.replace("\"1\": {", "\"0\": {"), "0"),
        (OSLAT.replace("\"2\": 8", "\"1\": 8"), "1"),
        (STARVED.replace("\"cycles\": 10000", "\"cycles\": 10000, \"cycles\": 10000"), "cycles"),
    ] {
        let refused = read(&text).unwrap_err();
        assert!(refused.contains(&format!("the key `{key}` stands twice in one table at line")), "{refused}");
    }
}

#[test]
fn a_tool_that_ended_with_an_error_is_in_the_notes() {
    let failed = STARVED.replace("\"return_code\": 0", "\"return_code\": 1");
    let notes = |text: &str| conclude(&read(text).unwrap(), "x.json", None, &[], Vec::new()).unwrap().record.notes;
    let said = |notes: &[String]| {
        notes.iter().any(|note| note.starts_with("cyclictest ended with an error (`return_code` is 1)"))
    };
    assert!(said(&notes(&failed)) && !said(&notes(STARVED)), "{:?}", notes(&failed));
}

#[test]
fn samples_of_the_last_bucket_of_oslat_alone_are_samples() {
    let text = OSLAT.replace("{ \"1\": 90, \"2\": 8, \"32\": 2 }", "{ \"32\": 700 }");
    let text = text.replace("\"min\": 1, \"avg\": 1.02, \"max\": 9338", "\"min\": 40, \"avg\": 300.0, \"max\": 5000");
    let budgets = ["max<=6ms@0.01", "max<=4ms", "p50<=30us", "p50<=100us"].map(|budget| budget.parse().unwrap());
    let run = conclude(&read(&text).unwrap(), "x.json", None, &budgets, Vec::new()).unwrap().record;
    let case = &run.cases[0];
    assert_eq!((case.samples, case.overflow, case.p50_ns), (700, 700, None));
    assert_eq!((case.min_ns, case.mean_ns, case.max_ns), (Some(39e3), Some(299e3), Some(4_999e3)));
    let kinds: Vec<_> = run.budgets.iter().map(|judged| judged.kind.to_string()).collect();
    assert_eq!(kinds, ["not seen broken", "broken", "broken", "too thin to say"], "{:?}", run.budgets);
    // So are those of cyclictest, which was asked for a histogram.
    let beyond = of_one_thread(r#""histogram": {}, "cycles": 5000, "min": 50, "max": 200"#, "cyclictest -h 20 -D 5", 5);
    assert_eq!(read(&beyond).unwrap().histograms[0].beyond, 5000);
}

#[test]
fn a_length_of_0_or_less_is_refused() {
    for wrong in ["0.0", "-5", "-0.001"] {
        let refused = read(&OSLAT.replace("\"duration\": 1.026", &format!("\"duration\": {wrong}"))).unwrap_err();
        let said = wrong.trim_end_matches(".0");
        assert!(refused.contains(&format!("core 1 has a `duration` of {said} s; expected a time over 0")), "{refused}");
    }
}

/// An output of rtla with one column.
fn of_one_column(tool: &str, rows: &str, sums: &str) -> String {
    format!(
        "# RTLA {tool} histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:40\nIndex Thr-000\n{rows}{sums}"
    )
}

#[test]
fn buckets_of_rtla_are_as_wide_as_its_rows_and_extremes_say() {
    let run = |text: &str, budgets: &[&str]| {
        let budgets: Vec<_> = budgets.iter().map(|budget| budget.parse().unwrap()).collect();
        conclude(&read(text).unwrap(), "x", None, &budgets, Vec::new()).unwrap().record
    };
    let unknown = |notes: &[String]| notes.iter().any(|note| note.starts_with("rtla does not say how wide"));
    // One row, and the shortest and the longest are in it: however wide it is, all samples are of 12 us.
    let sums = "over: 0\ncount: 10000\nmin: 12\navg: 12\nmax: 12\n";
    let one = run(&of_one_column("timerlat", "12 10000\n", sums), &["p50<=13us", "max<=13us@0.1", "max<=12us@0.1"]);
    assert!(one.notes.iter().any(|note| note.contains("rounded down to whole steps of 1 us")), "{:?}", one.notes);
    assert!(!unknown(&one.notes), "{:?}", one.notes);
    let kinds: Vec<_> = one.budgets.iter().map(|judged| judged.kind.to_string()).collect();
    assert_eq!(kinds, ["not seen broken", "not seen broken", "too thin to say"], "{:?}", one.budgets);
    // Rows of 12 and 24 us: a sample at 12 us may be of up to 24 us, the longest is of 24 to 25 us.
    let rows = "12 9000\n24 1000\n";
    let sums = "over: 0\ncount: 10000\nmin: 12\navg: 13\nmax: 24\n";
    let two = run(&of_one_column("timerlat", rows, sums), &["p50<=13us", "p50<=24us", "max<=25us@0.1"]);
    assert!(two.notes.iter().any(|note| note.contains("the largest may be up to 1 us longer")), "{:?}", two.notes);
    assert!(unknown(&two.notes), "{:?}", two.notes);
    let kinds: Vec<_> = two.budgets.iter().map(|judged| judged.kind.to_string()).collect();
    assert_eq!(kinds, ["too thin to say", "not seen broken", "not seen broken"], "{:?}", two.budgets);
    // With every row in the file the width is known.
    let zeros = format!("0 0\n1 0\n{rows}");
    let known = run(&of_one_column("timerlat", &zeros, sums), &["p50<=13us"]);
    assert_eq!(known.budgets[0].kind.to_string(), "not seen broken", "{:?}", known.budgets);
    assert!(!unknown(&known.notes), "{:?}", known.notes);
    // The longest lies 5 us above its row, and the mean 3 us: no bucket is narrower.
    let wide = of_one_column("timerlat", "0 100\n12 100\n", "over: 0\ncount: 200\nmin: 0\navg: 9\nmax: 17\n");
    let histogram = &read(&wide).unwrap().histograms[0];
    assert_eq!((histogram.bucket, histogram.narrowest), (12, 6));
    // What is beyond ten buckets or more is longer than ten of them.
    let beyond = of_one_column("timerlat", "0 100\n12 100\n", "over: 1\ncount: 201\nmin: 0\navg: 6\nmax: 47\n");
    let histogram = &read(&beyond).unwrap().histograms[0];
    assert_eq!((histogram.bucket, histogram.narrowest), (4, 1));
}

/// rtla takes samples of osnoise from a histogram of the kernel: its extremes are lower ends of buckets.
#[test]
fn extremes_of_osnoise_are_as_coarse_as_its_buckets() {
    let sums = "over: 0\ncount: 200\nmin: 5\navg: 5.50\nmax: 10\n";
    let text = of_one_column("osnoise", "5 180\n10 20\n", sums);
    let budgets = ["max<=11us@0.1", "max<=15us@0.1", "p50<=10us"].map(|budget| budget.parse().unwrap());
    let run = conclude(&read(&text).unwrap(), "x", None, &budgets, Vec::new()).unwrap().record;
    let kinds: Vec<_> = run.budgets.iter().map(|judged| judged.kind.to_string()).collect();
    assert_eq!(kinds, ["too thin to say", "not seen broken", "not seen broken"], "{:?}", run.budgets);
    assert_eq!((run.cases[0].min_ns, run.cases[0].mean_ns, run.cases[0].max_ns), (Some(5e3), Some(5.5e3), Some(10e3)));
    assert!(run.notes.iter().any(|note| note.contains("The rows with samples allow up to 5 us")), "{:?}", run.notes);
    // A step of 1 us where one of them is no multiple of more.
    let fine =
        of_one_column("osnoise", "5 180\n10 19\n", &sums.replace("max: 10", "max: 11").replace("over: 0", "over: 1"));
    assert_eq!(read(&fine).unwrap().histograms[0].step_ns, 1e3);
    let first = of_one_column("osnoise", "0 200\n", "over: 0\ncount: 200\nmin: 0\navg: 0.00\nmax: 0\n");
    assert!(read(&first).unwrap_err().contains("all samples are in the row 0"));
}
