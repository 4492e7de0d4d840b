//! Files of each tool, shortened, with figures worked out by hand; and texts that are none.

use proptest::prelude::*;
use waykeeper_imports::{Imported, conclude, read};

/// Of cyclictest 2.40; two cycles of the first thread were longer than its histogram, which also follows as text. The second one
/// had counted a cycle that was not in the histogram yet.
const CYCLICTEST: &str = r#"{
  "file_version": 1,
  "cmdline:": "cyclictest -a2-3 -t2 -m -p99 -h 30 -q -D 60 --json=day.json",
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
    let text = text.replace("Thr-000\n", "Thr-000\n2 0\n4 0\n");
    let histograms = read(&text);
    assert!(histograms.is_err_and(|why| why.contains("no sample in a histogram")));
    let text = text.replace("2 0\n", "2 1\n").replace("count: 60000", "count: 60001").replace("min: 300", "min: 2");
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
    // The second thread wakes up every 11 ms.
    let second = |line: &str| {
        let figures = r#""histogram": { "10": 1800 }, "cycles": 1800, "min": 10, "max": 10"#;
        read(&of_one_thread(figures, line, 20).replace("\"0\": { \"hist", "\"1\": { \"hist"))
    };
    assert!(second("cyclictest -i 1000 -d 10000 -D 20").is_ok());
    assert!(second("cyclictest -i 1000 -D 20").is_err());
    // It ends by itself after so many, and its other threads later.
    assert!(thread(2_000, "cyclictest -i 1000 -l 2000").is_ok());
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
fn a_column_of_rtla_is_a_case_and_an_empty_one_is_none() {
    let imported = read(TIMERLAT).unwrap();
    let named = |name: &str| imported.histograms.iter().find(|it| it.name == name).unwrap();
    assert_eq!((named("Thr-000").samples(), named("Thr-000").beyond, named("Thr-000").max), (10, 2, Some(70)));
    assert_eq!(named("IRQ-000").counts, [(0, 28), (1, 52)]);
    let run = conclude(&imported, "timerlat.txt", None, &[], Vec::new()).unwrap().record;
    let names: Vec<_> = run.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["IRQ-000", "Thr-000"]);
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
    let with = |cycles: u64| CYCLICTEST.replace("\"cycles\": 5", &format!("\"cycles\": {cycles}"));
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
        ("{ \"thread\": 3 }", "`thread`: found integer `3`, expected a table"),
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
        "cyclictest -D 5",
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
    let words =
        "`thread.0.histogram.10`: found integer `-3`, expected a whole number of 0 or more; expected the JSON of";
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
    // Nobody knows the interval of a line without one, and none wakes up more often than once a microsecond.
    let line = "cyclictest -D 20";
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
        "cyclictest -h 20 -D 5",
        5,
    );
    let budgets = ["p50<=5us", "p50<=100us", "p99<=3ms"].map(|budget| budget.parse().unwrap());
    let run = conclude(&read(&text).unwrap(), "x.json", None, &budgets, Vec::new()).unwrap().record;
    let texts: Vec<&str> = run.budgets.iter().map(|budget| budget.text.as_str()).collect();
    assert!(texts[0].starts_with("broken: 100000 of 100000 samples over 5 us"), "{texts:?}");
    assert!(
        texts[1].starts_with("too thin to say: 0 of 100000 samples over 100 us, and 60000 more may be"),
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
