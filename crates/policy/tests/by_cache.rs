//! Shares that differ from cache to cache, worked out by hand.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::{Form, LoadedPolicy, Membership, Offer, Policy, lower, plan};

/// Two L2 caches of 8 segments: ids 0 and 1, of cores 0-1 and 2-3.
fn apollo_lake() -> Offer {
    let file = find_bundled("apollo-lake-e3950").unwrap();
    Offer::of_platform(&Platform::from_toml(file.text, "apollo-lake-e3950").unwrap())
}

fn loaded(policy: &str) -> Result<LoadedPolicy, String> {
    LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{policy}")).map_err(|error| error.to_string())
}

/// Each class's masks as `name: cache=mask ...`.
fn masks(policy: &str) -> Result<Vec<String>, String> {
    let (loaded, offer) = (loaded(policy)?, apollo_lake());
    let membership = Membership::unread(&loaded.policy);
    let assignment = plan(&loaded, &offer, &membership).map_err(|refusal| format!("{}: {refusal}", refusal.key))?;
    let class = |class: &waykeeper_policy::AssignedClass| {
        let masks: Vec<_> = class.masks.iter().map(|it| format!("{}={}", it.domain, it.mask)).collect();
        format!("{}: {}", class.name, masks.join(" "))
    };
    Ok(assignment.classes.iter().map(class).collect())
}

const BOTH: &str = "[[classes]]\nname = 'rt'\ncores = '1,2'\n";

#[test]
fn each_cache_has_its_own_mask() {
    let policy = format!(
        "{BOTH}l2 = [{{ cache = 0, share = '3 segments' }}, {{ cache = 1, share = '2 segments', at = 'high' }}]"
    );
    assert_eq!(masks(&policy).unwrap(), ["others: 0=0xf8 1=0x3f", "rt: 0=0x7 1=0xc0"]);
}

#[test]
fn a_cache_without_a_share_is_left_whole() {
    let policy = format!("{BOTH}l2 = [{{ cache = 1, share = '0x3' }}]");
    assert_eq!(masks(&policy).unwrap(), ["others: 1=0xfc", "rt: 0=0xff 1=0x3"]);
    // Everyone else may be held to less in one of them.
    let others = format!("{policy}\n[others]\nl2 = [{{ cache = 0, share = '2 segments' }}]");
    assert_eq!(masks(&others).unwrap(), ["others: 0=0x3 1=0xfc", "rt: 0=0xff 1=0x3"]);
}

#[test]
fn two_classes_meet_in_one_cache_only() {
    let policy = "[[classes]]\nname = 'a'\ncores = '0,2'\nl2 = [{ cache = 0, share = '5 segments' }, { cache = 1, share = '1 segment' }]\n\
        [[classes]]\nname = 'b'\ncores = '1,3'\nl2 = [{ cache = 0, share = '1 segment' }, { cache = 1, share = '5 segments' }]";
    assert_eq!(masks(policy).unwrap(), ["others: 0=0xc0 1=0xc0", "a: 0=0x1f 1=0x1", "b: 0=0x20 1=0x3e"]);
}

#[test]
fn the_registers_of_each_cache_get_its_mask() {
    let policy = format!("{BOTH}l2 = [{{ cache = 0, share = '3 segments' }}, {{ cache = 1, share = '2 segments' }}]");
    let (loaded, offer) = (loaded(&policy).unwrap(), apollo_lake());
    let assignment = plan(&loaded, &offer, &Membership::unread(&loaded.policy)).unwrap();
    let lowered = lower(&assignment, &offer, Form::Msr).unwrap();
    // IA32_L2_QOS_MASK_1 is 0xd11; cores 0 and 2 are the lowest of the two L2 caches.
    let of_class: Vec<_> = lowered.lines.iter().map(|it| it.shell.as_str()).filter(|it| it.contains("0xd11")).collect();
    assert_eq!(of_class, ["wrmsr -p 0 0xd11 0x7", "wrmsr -p 2 0xd11 0x3"]);
}

#[test]
fn what_would_be_passed_over_is_refused() {
    let list = |list: &str| masks(&format!("{BOTH}l2 = {list}")).unwrap_err();
    let cases = [
        ("[{ cache = 2, share = 'half' }]", "classes.0.l2.0.cache", "no L2 with the id 2; there are 0, 1"),
        ("[{ cache = 0, share = 'half' }, { cache = 0, share = 'half' }]", "classes.0.l2", "cache 0 is named twice"),
        ("[]", "classes.0.l2", "the list is empty"),
        ("[{ share = 'half' }]", "classes.0.l2", "needs `cache`"),
        ("['half']", "classes.0.l2.0", "expected"),
        ("[{ cache = 0, share = 'half', way = 2 }]", "classes.0.l2.0", "way"),
        ("{ cache = 0, share = 'half' }", "classes.0.l2", "`cache` is for lists"),
        ("[{ cache = 0, share = '9 segments' }]", "classes.0.l2.0", "is more than L2 0 has"),
    ];
    for (text, key, word) in cases {
        let error = list(text);
        assert!(error.contains(key) && error.contains(word), "{text}: {error}");
    }
    let one = "[[classes]]\nname = 'rt'\ncores = '1'\nl2 = [{ cache = 1, share = 'half' }]";
    let error = masks(one).unwrap_err();
    assert!(error.contains("no core of `rt` uses L2 1") && error.contains("its cores use 0"), "{error}");
}

#[test]
fn it_is_written_as_it_was_read() {
    let text = format!(
        "{BOTH}l2 = [{{ cache = 1, share = '2 ways', exclusive = false }}, {{ cache = 0, code = '1/4', data = 'half' }}]"
    );
    let policy = loaded(&text).unwrap().policy;
    let again: Policy = toml::from_str(&toml::to_string(&policy).unwrap()).unwrap();
    assert_eq!(again, policy);
}
