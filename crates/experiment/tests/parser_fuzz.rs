//! The experiment parser under any text: it never panics, it always ends, and each refusal is one paragraph.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s (CI does), and
//! `BOLERO_RANDOM_SEED` repeats one that failed. The corpus in `__fuzz__` is always tried. A line `#set KEY=VALUE` of a
//! text is an override, as `--set KEY=VALUE` is on the command line.

use std::collections::BTreeMap;
use std::path::Path;

use bolero::{TypeGenerator, check};
use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::describe::Experiment;
use waykeeper_experiment::site::{ExecutorKind, MitigationOffer, Site, SiteCore};
use waykeeper_experiment::{InputError, Loaded, Set};
use waykeeper_statistics::Budget;
use waykeeper_workload::{CacheShape, CacheShapes};

/// A site with four cores, two of which have no caches that anybody knows.
fn site(executor: ExecutorKind) -> Site {
    let caches = CacheShapes(vec![
        CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 },
        CacheShape { level: 3, size_bytes: 2 << 20, ways: 16, line_bytes: 64 },
    ]);
    let core = |id| SiteCore {
        id,
        caches: if id < 2 { caches.clone() } else { CacheShapes::default() },
        siblings: if id == 3 { vec![2] } else { Vec::new() },
    };
    let offers = [("nl3a", true), ("cp", true), ("qos", true), ("fifo", false)].map(|(name, applied)| {
        let offer = if applied {
            MitigationOffer::Applied("it does".into())
        } else {
            MitigationOffer::Refused("it is not here".into())
        };
        (name.to_owned(), offer)
    });
    Site {
        executor,
        platform: "agilex5".into(),
        called: "platform `agilex5`".into(),
        cores: (0..4).map(core).collect(),
        auto_core: 1,
        mitigations: BTreeMap::from(offers),
        needs_buffer: vec!["hugepages".into()],
        needs_own_memory: Vec::new(),
    }
}

/// Reads and plans a text, as a run does up to the point where cores would be used.
fn read_and_plan(text: &str) -> Result<(), InputError> {
    let sets = text.lines().filter_map(|line| line.strip_prefix("#set ")).map(Set::parse);
    let loaded = Loaded::from_text("any", "any.toml", text, sets.collect::<Result<_, _>>()?)?;
    for budget in loaded.experiment.budgets.as_slice() {
        // A refusal of a budget is put into words by its own type.
        if let Err(error) = budget.parse::<Budget>() {
            assert!(!error.to_string().is_empty());
        }
    }
    // What was read can be kept, and reads back as the same.
    let kept = loaded.to_toml();
    let again =
        Loaded::from_text("any", "kept.toml", &kept, Vec::new()).unwrap_or_else(|error| panic!("{error}\n{kept}"));
    // But for the paths of files, which the copy has whole, and its name, which it has at any rate.
    let (files, name) = (loaded.experiment.files.clone(), loaded.experiment.name.clone());
    assert_eq!(again.name, loaded.name, "{kept}");
    assert_eq!(Experiment { files, name, ..again.experiment }, loaded.experiment, "{kept}");
    for executor in [ExecutorKind::Host, ExecutorKind::Sim] {
        Plan::new(&loaded, &site(executor))?;
    }
    Ok(())
}

fn check_text(text: &str) {
    if let Err(error) = read_and_plan(text) {
        let told = error.to_string();
        // One paragraph, whatever was found in the text or typed as an override.
        assert!(!error.message.is_empty() && !told.contains(char::is_control), "{told}");
        assert!(!told.contains("Experiment {") && !told.contains("struct "), "{told}");
    }
}

#[test]
fn any_text() {
    check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            check_text(text);
        }
    });
}

/// One change to a text.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    /// Takes some lines out.
    Cut { line: u16, lines: u8 },
    /// Repeats a line somewhere else.
    Copy { from: u16, to: u16 },
    /// Writes a piece of another text over the value of a line.
    Value { line: u16, piece: u16 },
    /// Puts a piece of text anywhere.
    Insert { at: u16, piece: u16 },
    /// Puts any characters anywhere.
    Any { at: u16, text: String },
    /// Adds an override of the value of a line.
    Set { line: u16, piece: u16 },
}

const PIECES: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "2",
    "3",
    "4",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "nan",
    "-inf",
    "0.5",
    "true",
    "[]",
    "{}",
    "''",
    "[1, 2]",
    "[[1]]",
    "{ workload = 'latency_loop' }",
    "'none'",
    "'nl3a'",
    "'nl3a+cp'",
    "['nl3a', 'cp', 'fifo']",
    "'cross'",
    "'together'",
    "'others'",
    "'auto'",
    "'host'",
    "'1 us'",
    "'24 h'",
    "'0 s'",
    "'99999999999999999999 h'",
    "'L1'",
    "'L3'",
    "'LLC'",
    "'4 x L3'",
    "'0 x L3'",
    "'1 way of L3'",
    "'half of L2'",
    "'min(L3, 64 MiB)'",
    "'max(min(L1, 1 B), max(L3, 1 TiB))'",
    "'1024 GiB'",
    "'2000 GiB'",
    "'sets of LLC'",
    "'1 B'",
    "'1 line'",
    "'max<=10us'",
    "'max<=10us@1e-6'",
    "'walk'",
    "'chase'",
    "'tick'",
    "'command'",
    "'way_hammer'",
    "'stress_ng_cache'",
    "1979-05-27T07:32:00Z",
    "\"\\u0000\"",
    "'\u{1f980}'",
    "[[neighbours]]\n",
    "[[targets]]\n",
    "[workloads.way_hammer]\nkind = 'tick'\n",
    "[published]\n",
    "title = 'x'\n",
    "#set targets.0.core=auto\n",
    "#set neighbours.0.cores=1,2,3\n",
    "#set workloads.a.b.c.0.d=1\n",
    "#set mitigations=nl3a,cp,qos\n",
    "#set combine=cross\n",
    "=",
    "[",
    "]",
    "{",
    "'",
    "\"",
    "\n",
    "\r",
    "\\",
    "#",
    ",",
    ".",
];

/// The texts of the committed corpus.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/__fuzz__/any_text/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

fn apply(text: &mut String, edit: &Edit) {
    let lines = text.lines().count().max(1);
    let line = |at: &u16| usize::from(*at) % lines;
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    match edit {
        Edit::Cut { line: from, lines: count } => {
            let from = line(from).min(all.len());
            let to = (from + usize::from(*count % 4)).min(all.len());
            all.drain(from..to);
        }
        Edit::Copy { from, to } => {
            if let Some(copy) = all.get(line(from)).cloned() {
                all.insert(line(to), copy);
            }
        }
        Edit::Value { line: at, piece } => {
            if let Some((key, value)) = all.get_mut(line(at)).and_then(|l| Some((l.split_once('=')?.0.to_owned(), l))) {
                *value = format!("{key}= {}", self::piece(*piece));
            }
        }
        Edit::Set { line: at, piece } => {
            if let Some(key) = all.get(line(at)).and_then(|l| Some(l.split_once('=')?.0.trim().to_owned())) {
                all.push(format!("#set {key}={}", self::piece(*piece).trim()));
            }
        }
        Edit::Insert { at, piece } => return insert(text, *at, self::piece(*piece)),
        Edit::Any { at, text: any } => return insert(text, *at, any),
    }
    *text = all.join("\n");
}

fn piece(number: u16) -> &'static str {
    PIECES[usize::from(number) % PIECES.len()]
}

fn insert(text: &mut String, at: u16, what: &str) {
    let mut at = usize::from(at) % (text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.insert_str(at, what);
}

#[test]
fn edited_experiments() {
    let mut starts = corpus();
    starts.extend(waykeeper_experiment::bundled().iter().map(|bundled| bundled.text.to_owned()));
    check!().with_type::<(u16, Vec<Edit>)>().for_each(|(start, edits)| {
        let mut text = starts[usize::from(*start) % starts.len()].clone();
        edits.iter().take(8).for_each(|edit| apply(&mut text, edit));
        check_text(&text);
    });
}

#[test]
fn the_corpus_reaches_both_ends() {
    let (read, refused): (Vec<_>, Vec<_>) = corpus().into_iter().partition(|text| read_and_plan(text).is_ok());
    assert!(read.len() >= 5 && refused.len() >= 5, "{} read, {} refused", read.len(), refused.len());
}
