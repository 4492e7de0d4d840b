use waykeeper_experiment::Loaded;

use super::*;

/// A case whose repeats have these means, in nanoseconds.
fn case(mitigation: &str, solo: bool, size: Option<&str>, means: &[f64]) -> CaseRecord {
    let repeat = |mean: &f64| RepeatRecord { mean_ns: Some(*mean), ..RepeatRecord::default() };
    CaseRecord {
        target: "mser".into(),
        mitigation: mitigation.into(),
        neighbours: if solo { Vec::new() } else { vec![crate::record::NeighbourRecord::default()] },
        point: size.map(|size| ("size".to_owned(), size.to_owned())).into_iter().collect(),
        mean_ns: Some(means.iter().sum::<f64>() / means.len() as f64),
        repeats: means.iter().map(repeat).collect(),
        ..CaseRecord::default()
    }
}

fn judge(order: &str, more: &str, cases: &[CaseRecord]) -> (Met, String) {
    let text = format!(
        "title = 'x'\ntargets = [{{ workload = 'mser' }}]\n\
         [[sweep]]\nname = 'size'\nkey = 'neighbours.0.with.size'\nvalues = ['8 KiB', '1 MiB']\n\
         [[neighbours]]\nworkload = 'stream_read'\n\
         [[expectations]]\nsays = 'x'\norder = '{order}'\nmetric = 'mean'\n{more}"
    );
    let loaded = Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap();
    let mut judged = judge_expectations(&loaded.experiment, cases);
    let record = judged.pop().unwrap();
    (record.kind, record.text)
}

/// Without neighbours 100 ns; beside small ones the same, beside large ones 800 ns, and 300 ns with the mitigation.
fn cases() -> Vec<CaseRecord> {
    vec![
        case("none", true, None, &[100.0, 100.0]),
        case("none", false, Some("8 KiB"), &[100.0, 104.0]),
        case("cp", false, Some("8 KiB"), &[102.0, 101.0]),
        case("none", false, Some("1 MiB"), &[780.0, 820.0]),
        case("cp", false, Some("1 MiB"), &[290.0, 310.0]),
    ]
}

#[test]
fn a_statement_must_hold_at_every_point_that_it_leaves_open() {
    assert_eq!(
        judge("none > 2 x cp", "", &cases()),
        // 102 v 2 x 101.5 = 203, in both repeats; 800 v 600 holds.
        (Met::NotMet, "at 1 of 2; size 8 KiB: it is not so that 102 ns > 203 ns".into())
    );
    assert_eq!(judge("none > 2 x cp", "point = { size = '1 MiB' }\n", &cases()), (Met::Met, "800 ns > 600 ns".into()));
    let (kind, text) = judge("none >= 1", "", &cases());
    assert_eq!((kind, text.as_str()), (Met::Met, "at 2 of 2; size 8 KiB: 102 ns >= 1 ns; size 1 MiB: 800 ns >= 1 ns"));
}

#[test]
fn points_and_solo_cases_can_be_named() {
    assert_eq!(judge("none[size 8 KiB] < none[size 1 MiB]", "", &cases()), (Met::Met, "102 ns < 800 ns".into()));
    assert_eq!(judge("idle == 100", "", &cases()), (Met::Met, "100 ns == 100 ns".into()));
    assert_eq!(
        judge("none > 7 x idle", "point = { size = '1 MiB' }\n", &cases()),
        (Met::Met, "800 ns > 700 ns".into())
    );
}

#[test]
fn where_the_repeats_disagree_or_a_case_is_missing_nothing_is_told() {
    // 100 v 102 and 104 v 101: the means say 102 > 101.5, the first repeat does not.
    assert_eq!(
        judge("none > cp", "point = { size = '8 KiB' }\n", &cases()),
        (Met::CannotTell, "102 ns > 102 ns, but in 1 of 2 repeats it holds".into())
    );
    assert_eq!(judge("none > cp", "", &cases()[..2]), (Met::CannotTell, "size 8 KiB: there is no figure of cp".into()));
    assert_eq!(judge("qos < cp", "", &[]), (Met::CannotTell, "these cases were not run".into()));
}

#[test]
fn a_slowdown_is_judged_repeat_by_repeat() {
    let mut cases = cases();
    for case in &mut cases[3..] {
        case.slowdown = case.mean_ns.map(|mean| mean / 100.0);
    }
    cases.push(case("cp", true, None, &[100.0, 100.0]));
    let text = "metric = 'slowdown'\npoint = { size = '1 MiB' }\n";
    let judged = |order: &str| {
        let text = format!(
            "title = 'x'\ntargets = [{{ workload = 'mser' }}]\n\
             [[sweep]]\nname = 'size'\nkey = 'neighbours.0.with.size'\nvalues = ['8 KiB', '1 MiB']\n\
             [[neighbours]]\nworkload = 'stream_read'\n[[expectations]]\nsays = 'x'\norder = '{order}'\n{text}"
        );
        let loaded = Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap();
        judge_expectations(&loaded.experiment, &cases).pop().unwrap().kind
    };
    assert_eq!(judged("none > 7.5"), Met::Met);
    assert_eq!(judged("none > 8.1"), Met::CannotTell);
    assert_eq!(judged("none < cp"), Met::NotMet);
}
