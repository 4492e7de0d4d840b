//! Every bundled policy on every bundled platform in every form: nothing panics, and whoever is refused is told what
//! would do, truly.

use waykeeper_platform::{Platform, bundled as platforms};
use waykeeper_policy::{Assignment, CoreList, Form, LoadedPolicy, Membership, Offer, Refusal, bundled, lower, plan};

fn offer(name: &str) -> Offer {
    let file = platforms().iter().find(|file| file.name == name).unwrap();
    Offer::of_platform(&Platform::from_toml(file.text, name).unwrap())
}

fn planned(loaded: &LoadedPolicy, offer: &Offer) -> Result<Assignment, Refusal> {
    plan(loaded, offer, &Membership::unread(&loaded.policy))
}

/// The policy, with the first core for each class that has none on the machine: what `--cores` is for.
fn with_cores(mut loaded: LoadedPolicy, offer: &Offer) -> LoadedPolicy {
    for class in loaded.policy.classes.clone() {
        let there = |cores: &[u32]| cores.iter().all(|core| offer.cores.contains(core));
        if class.cores.as_ref().is_some_and(|cores| !cores.on(&offer.name).is_ok_and(there)) {
            loaded = loaded.with_cores(&class.name, CoreList::parse(&offer.cores[0].to_string()).unwrap()).unwrap();
        }
    }
    loaded
}

fn every(check: impl Fn(&LoadedPolicy, &Offer)) {
    for policy in bundled() {
        for platform in platforms() {
            check(&LoadedPolicy::open(policy.name).unwrap(), &offer(platform.name));
        }
    }
}

fn is_one_sentence(refusal: &Refusal) {
    assert!(!refusal.message.is_empty() && !refusal.message.contains('\n'), "{refusal}");
}

/// A policy that names no cores of a machine says how they are named; then either it fits, or the machine lacks something
/// and the platforms are named that have it.
#[test]
fn a_policy_fits_or_the_platforms_that_it_fits_are_named() {
    every(|loaded, offer| {
        let place = format!("{} on {}", loaded.name, offer.name);
        let Err(refusal) = planned(loaded, offer) else { return };
        is_one_sentence(&refusal);
        if !refusal.lacking {
            assert!(refusal.message.contains("`--cores CLASS=LIST`"), "{place}: {refusal}");
            let Err(refusal) = planned(&with_cores(loaded.clone(), offer), offer) else { return };
            assert!(refusal.lacking, "{place}, with cores: {refusal}");
        }
        let told = Refusal { lacking: true, ..refusal }.with_platforms(loaded).message;
        let (_, names) =
            told.split_once("`--for` a platform that has it: ").unwrap_or_else(|| panic!("{place}: {told}"));
        for name in names.split(", ") {
            assert!(planned(loaded, &self::offer(name)).is_ok(), "{place} names {name}");
        }
    });
}

/// A form writes a text, or the refusal names forms that write one. Nobody is sent to the form that he comes from.
#[test]
fn a_form_writes_it_or_those_are_named_that_do() {
    every(|loaded, offer| {
        let loaded = with_cores(loaded.clone(), offer);
        let Ok(assignment) = planned(&loaded, offer) else { return };
        let suits = Form::suiting(&assignment, offer);
        if lower(&assignment, offer, suits).is_err() {
            let other = Form::ALL.into_iter().find(|form| lower(&assignment, offer, *form).is_ok());
            assert_eq!(other, Some(Form::Cmdline), "{} on {}, and not {suits}", loaded.name, offer.name);
        }
        for form in Form::ALL {
            let place = format!("{} on {} as {form}", loaded.name, offer.name);
            match lower(&assignment, offer, form) {
                Ok(lowered) => {
                    let text = lowered.script(&assignment);
                    assert!(text.ends_with('\n') && text.contains(&loaded.name), "{place}: {text}");
                    assert!(!text.lines().any(|line| line.ends_with(' ')), "{place}: {text}");
                }
                Err(refusal) => {
                    is_one_sentence(&refusal);
                    let named: Vec<_> = Form::ALL.into_iter().filter(|it| names(&refusal.message, *it)).collect();
                    let reason = refusal.message.contains("no form writes all")
                        || refusal.message.contains("no cores to isolate");
                    assert!(!named.is_empty() || reason, "{place}: {refusal}");
                    for other in named.into_iter().filter(|it| *it != form) {
                        assert!(lower(&assignment, offer, other).is_ok(), "{place} names {other}: {refusal}");
                    }
                }
            }
        }
    });
}

/// Whether a sentence names a form in quotes, as something to choose.
fn names(message: &str, form: Form) -> bool {
    message.contains(&format!("`{form}`")) || message.contains(&format!("`--as {form}`"))
}
