//! The readers of policies, lists of cores, amounts and schemata under any text: they never panic, always end, and each
//! refusal is one paragraph. What is read as a policy can be written, and is planned for machines of every kind.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s (CI does). The corpus
//! in `__fuzz__` is always tried.

use std::sync::LazyLock;

use bolero::{TypeGenerator, check};
use waykeeper_platform::{Platform, bundled, format_cpulist, parse_cpulist};
use waykeeper_policy::{
    Amount, BandwidthLimit, CoreList, Form, LoadedPolicy, Membership, Offer, lower, parse_schemata, plan,
};

static OFFERS: LazyLock<Vec<Offer>> = LazyLock::new(|| {
    let offer = |text| Offer::of_platform(&Platform::from_toml(text, "bundled").unwrap());
    bundled().iter().map(|file| offer(file.text)).collect()
});

fn one_paragraph(text: &str) {
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}

fn check_policy(text: &str) {
    let loaded = match LoadedPolicy::from_text("any", "any.toml", text) {
        Ok(loaded) => loaded,
        Err(error) => {
            let told = error.to_string();
            assert!(!told.contains("struct "), "{told}");
            return one_paragraph(&told);
        }
    };
    let written = toml::to_string(&loaded.policy).unwrap();
    let again =
        LoadedPolicy::from_text("any", "written.toml", &written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.policy, loaded.policy, "{written}");
    for offer in OFFERS.iter() {
        match plan(&loaded, offer, &Membership::unread(&loaded.policy)) {
            Err(refusal) => one_paragraph(&loaded.error(&refusal.key, refusal.message).to_string()),
            Ok(assignment) => {
                for form in Form::ALL {
                    match lower(&assignment, offer, form) {
                        Err(refusal) => one_paragraph(&refusal.to_string()),
                        Ok(lowered) if lowered.text.is_some() => {
                            assert!(!lowered.lines.is_empty() && lowered.script(&assignment).ends_with('\n'));
                        }
                        // Nothing of a policy's texts becomes a line of its own.
                        Ok(lowered) => {
                            assert_eq!(lowered.script(&assignment).lines().count(), lowered.lines.len() + 4);
                        }
                    }
                }
            }
        }
    }
}

/// The small readers under one text.
fn check_word(text: &str) {
    if let Ok(amount) = text.parse::<Amount>() {
        assert_eq!(amount.to_string().parse(), Ok(amount));
    }
    if let Ok(limit) = text.parse::<BandwidthLimit>() {
        assert_eq!(limit.to_string().parse(), Ok(limit));
    }
    if let Ok(cores) = CoreList::parse(text) {
        assert_eq!(parse_cpulist(&format_cpulist(cores.as_slice())).as_deref(), Some(cores.as_slice()));
    }
    for line in parse_schemata(text).into_iter().flatten() {
        let values: Vec<_> = line.values.iter().map(|(id, value)| format!("{id}={value}")).collect();
        let shown = if values.is_empty() { "uninitialized".to_owned() } else { values.join(";") };
        assert_eq!(parse_schemata(&format!("{}:{shown}", line.name)), Some(vec![line]));
    }
}

#[test]
fn any_text() {
    check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            check_policy(text);
            check_word(text);
            text.lines().for_each(check_word);
        }
    });
}

/// A piece of a policy.
#[derive(Debug, Clone, TypeGenerator)]
enum Piece {
    /// A line of a policy.
    Line(u8),
    /// A key with a value.
    Key(u8, u8),
    /// Any line.
    Any(String),
}

const LINES: [&str; 8] = [
    "[[classes]]",
    "[[classes]]\nname = 'a'\ncores = '1'",
    "[[classes]]\nname = 'b'\ncores = '2-3'",
    "[[classes]]\nname = 'c'\ntasks = [7]",
    "[others]",
    "[[pseudo_locks]]\nname = 'k'\nlevel = 2\ncore = 3",
    "[[classes]]\nname = 'd'\ncgroups = ['rt.slice/x']\ncores = { agilex5 = '0', x7425e = [0, 1] }",
    "",
];

const KEYS: [&str; 10] = ["name", "cores", "tasks", "cgroups", "l2", "l3", "bandwidth", "size", "level", "core"];

const VALUES: [&str; 30] = [
    "'half'",
    "'1/3'",
    "'12.5 %'",
    "'4 ways'",
    "'1 segment'",
    "'at least 1 MiB'",
    "'at most 4294967295 ways'",
    "'18446744073709551615 B'",
    "'0xffffffff'",
    "'0x3f'",
    "'0x5'",
    "{ share = 'half', at = 'high' }",
    "{ share = '2 ways', exclusive = false }",
    "{ code = '1 way', data = '4294967295/4294967295' }",
    "{ code = '0x3', data = '0x6', at = 'low' }",
    "{}",
    "'20 %'",
    "'2 GB/s'",
    "'1 MB/s'",
    "'0-3'",
    "'0,2,4-65536'",
    "[0, 4294967295]",
    "{ xeon-d-2752ter = '4', host = 1 }",
    "[1, 2]",
    "['a']",
    "2",
    "3",
    "-1",
    "true",
    "'rt'",
];

#[test]
fn policies_of_pieces() {
    let _ = &*OFFERS;
    check!().with_type::<Vec<Piece>>().for_each(|pieces| {
        let mut text = "title = 'any'\n".to_owned();
        for piece in pieces.iter().take(24) {
            text += &match piece {
                Piece::Line(at) => LINES[usize::from(*at) % LINES.len()].to_owned(),
                Piece::Key(key, value) => {
                    let (key, value) = (usize::from(*key) % KEYS.len(), usize::from(*value) % VALUES.len());
                    format!("{} = {}", KEYS[key], VALUES[value])
                }
                Piece::Any(any) => any.clone(),
            };
            text.push('\n');
        }
        check_policy(&text);
    });
}
