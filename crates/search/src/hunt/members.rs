//! The winner's rank where the assumed parameters of a simulated platform have other values.

use std::path::Path;

use toml::Value;
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::{Loaded, Set};
use waykeeper_platform::knob::{knobs, with_values};
use waykeeper_session::{SessionError, named_platform};
use waykeeper_statistics::{LEAST_SHIFT, half_width};
use waykeeper_workload::Xorshift;

use super::hunting::{HuntError, HuntRequest, ONE_SIDED, worst_unshared};
use super::pool::{CandidateSource, RepeatScore, Scored};
use super::record::{MemberAnswer, MemberNeighbour, MemberRanks, MemberSet};

/// Repeats of each neighbour in a member: as many as an interval needs.
pub(super) const MEMBER_REPEATS: usize = 5;

/// Draws that may end in a platform that cannot be, for each member.
const TRIES: usize = 20;

/// Measures neighbours on a platform file.
pub(super) type MeasureOn<'a> =
    dyn FnMut(&HuntRequest, &[CandidateSource]) -> Result<Vec<Vec<RepeatScore>>, ExecutorError> + 'a;

/// The worst one found beside the bundled ones, in so many sets of the platform's assumed parameters. A stop leaves out
/// those that are not measured yet.
///
/// # Errors
/// A platform file that cannot be read; a folder that cannot be written; no set that can be simulated.
pub(super) fn across_members(
    request: &HuntRequest,
    loaded: &Loaded,
    confirmed: &[Scored],
    measure: &mut MeasureOn<'_>,
) -> Result<Option<MemberRanks>, HuntError> {
    // One in the target's buffer is another kind of neighbour than the bundled ones.
    let Some(winner) = worst_unshared(confirmed) else {
        return Ok(None);
    };
    let named = confirmed.iter().filter(|scored| matches!(scored.source, CandidateSource::Named(_)));
    let candidates: Vec<CandidateSource> =
        std::iter::once(winner).chain(named).map(|scored| scored.source.clone()).collect();
    let platform = named_platform(loaded)?;
    let knobs = knobs(&platform);
    let folder = tempfile::tempdir().map_err(|error| refused(format!("no folder for platform files: {error}")))?;
    let file = folder.path().join("member.toml");
    let mut random = Xorshift::new(request.seed);
    let mut ranks = MemberRanks { sets: Vec::new(), unusable: 0, repeats: MEMBER_REPEATS as u64 };
    while ranks.sets.len() < request.members {
        let mut measured = Err(refused(format!("none of {TRIES} sets of parameters can be simulated")));
        for _ in 0..TRIES {
            let values: Vec<(&str, Value)> =
                knobs.iter().map(|knob| (knob.key.as_str(), knob.draw(&mut || random.next_u64()))).collect();
            let tried = with_values(&platform, &values).ok().map(|platform| {
                std::fs::write(&file, platform.to_toml())
                    .map_err(|error| refused(format!("{}: {error}", file.display())))?;
                Ok::<_, HuntError>(measure(&on_platform(request, &file), &candidates))
            });
            match tried.transpose()? {
                Some(Ok(scores)) => {
                    measured = Ok(scores);
                    break;
                }
                Some(Err(ExecutorError::Stopped)) => return Ok(Some(ranks)),
                Some(Err(_)) | None => ranks.unusable += 1,
            }
        }
        ranks.sets.push(member_set(&candidates, &measured?));
    }
    Ok(Some(ranks))
}

fn refused(why: String) -> HuntError {
    HuntError::Session(SessionError::Executor(ExecutorError::Refused(why)))
}

fn on_platform(request: &HuntRequest, file: &Path) -> HuntRequest {
    let mut own = request.clone();
    own.sets.push(Set::from_option(
        "waykeeper hunt --members".into(),
        "platform",
        Value::String(file.display().to_string()),
    ));
    own
}

/// What a set of parameters says of the first candidate beside the others.
///
/// The winner must be shown worse than every other, each at a one-sided 2.5 %, so that all of them together err no more often. Another
/// one may be any of those, so that each has an equal share of the 2.5 %.
fn member_set(candidates: &[CandidateSource], scores: &[Vec<RepeatScore>]) -> MemberSet {
    let neighbours: Vec<MemberNeighbour> = candidates
        .iter()
        .zip(scores)
        .map(|(source, scores)| {
            let scored = Scored { source: source.clone(), scores: scores.clone() };
            let bundled = match source {
                CandidateSource::Named(name) => Some(name.clone()),
                _ => None,
            };
            MemberNeighbour { bundled, mean: (!scores.is_empty()).then(|| scored.mean()), ratios: scored.ratios() }
        })
        .collect();
    let (mut answer, mut worse) = (MemberAnswer::Nothing, Vec::new());
    if let Some((winner, others)) = neighbours.split_first() {
        // What a place refuses says nothing, and is no worse than anything.
        let rivals: Vec<&MemberNeighbour> = others.iter().filter(|other| other.mean.is_some()).collect();
        let share = (1.0 - ONE_SIDED) / rivals.len().max(1) as f64;
        let is_worse = |rival: &&&MemberNeighbour| exceeds(&rival.ratios, &winner.ratios, 1.0 - share);
        worse.extend(rivals.iter().filter(is_worse).filter_map(|rival| rival.bundled.clone()));
        let wins = |rival: &&MemberNeighbour| exceeds(&winner.ratios, &rival.ratios, ONE_SIDED);
        if !worse.is_empty() {
            answer = MemberAnswer::Another;
        } else if !rivals.is_empty() && rivals.iter().all(wins) {
            answer = MemberAnswer::Winner;
        }
    }
    MemberSet { answer, worse, neighbours }
}

/// Whether one neighbour is shown to be worse than another, paired by repeat: it has an effect, and the mean difference lies beyond
/// what the spread of the differences explains.
fn exceeds(one: &[f64], other: &[f64], confidence: f64) -> bool {
    if one.len() != other.len() || one.is_empty() {
        return false;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
    mean(one) - 1.0 > LEAST_SHIFT && mean(&differences) > half_width(&differences, confidence)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::NeighbourPattern;
    use super::*;
    use waykeeper_workload::Operation;

    fn candidates(count: usize) -> Vec<CandidateSource> {
        let found = CandidateSource::Found(NeighbourPattern::smallest(Operation::Read).into());
        let named = (1..count).map(|number| CandidateSource::Named(format!("b{number}")));
        std::iter::once(found).chain(named).collect()
    }

    fn says(scores: &[&[f64]]) -> (MemberAnswer, Vec<String>) {
        let scores: Vec<Vec<RepeatScore>> =
            scores.iter().map(|scores| scores.iter().copied().map(RepeatScore::from).collect()).collect();
        let set = member_set(&candidates(scores.len()), &scores);
        (set.answer, set.worse)
    }

    #[test]
    fn a_difference_within_the_noise_names_nobody() {
        // Differences 0.1, 0.2, 0.3: mean 0.2, s = 0.1, t(0.975, 2) = 4.3027 (tables): half 4.3027 x 0.1 / sqrt 3 = 0.248.
        let (low, high): (&[f64], &[f64]) = (&[2.0, 2.0, 2.0], &[2.1, 2.2, 2.3]);
        assert_eq!(says(&[high, low]), (MemberAnswer::Nothing, vec![]));
        assert_eq!(says(&[low, high]), (MemberAnswer::Nothing, vec![]));
        // The same spread about a mean of 0.3 lies beyond it.
        let high: &[f64] = &[2.2, 2.3, 2.4];
        assert_eq!(says(&[high, low]), (MemberAnswer::Winner, vec![]));
        assert_eq!(says(&[low, high]), (MemberAnswer::Another, vec!["b1".into()]));
        // Repeats of one number share their placement: what moves both alike is no noise.
        assert_eq!(says(&[&[2.3, 5.3, 9.3], &[2.0, 5.0, 9.0]]), (MemberAnswer::Winner, vec![]));
        // One repeat shows no spread.
        assert_eq!(says(&[&[9.0], &[2.0]]), (MemberAnswer::Nothing, vec![]));
    }

    #[test]
    fn where_nothing_has_an_effect_nothing_is_said() {
        // A regular difference of 0.5 %, below the 1 % that count as an effect, and one of 2 % above it.
        let (none, some): (&[f64], &[f64]) = (&[1.005, 1.005, 1.005], &[1.02, 1.02, 1.02]);
        let alone: &[f64] = &[1.0, 1.0, 1.0];
        assert_eq!(says(&[none, alone, alone]), (MemberAnswer::Nothing, vec![]));
        assert_eq!(says(&[alone, none, alone]), (MemberAnswer::Nothing, vec![]));
        assert_eq!(says(&[some, alone, none]), (MemberAnswer::Winner, vec![]));
        assert_eq!(says(&[none, some, alone]), (MemberAnswer::Another, vec!["b1".into()]));
    }

    #[test]
    fn a_winner_exceeds_all_and_another_one() {
        let [one, two, three] = [[1.5; 3], [2.0; 3], [3.0; 3]];
        assert_eq!(says(&[&three, &one, &two]), (MemberAnswer::Winner, vec![]));
        assert_eq!(says(&[&one, &three, &two]), (MemberAnswer::Another, vec!["b1".into(), "b2".into()]));
        // As bad as one of them.
        assert_eq!(says(&[&three, &one, &three]), (MemberAnswer::Nothing, vec![]));
        // What a place refuses has no repeats; where that is all, there is nothing to compare with.
        assert_eq!(says(&[&three, &one, &[]]), (MemberAnswer::Winner, vec![]));
        assert_eq!(says(&[&three, &[]]), (MemberAnswer::Nothing, vec![]));
        assert_eq!(says(&[&[], &one]), (MemberAnswer::Nothing, vec![]));
    }

    #[test]
    fn where_nothing_differs_few_sets_name_anybody() {
        let mut random = fastrand::Rng::with_seed(11);
        let sets = 2000;
        let mut named = 0;
        for _ in 0..sets {
            // Twelve neighbours of one slowdown, and noise of a sum of uniform values, which is close to a normal one's.
            let mut ratio = || 2.0 + (0..12).map(|_| random.f64() - 0.5).sum::<f64>() / 10.0;
            let scores: Vec<Vec<RepeatScore>> =
                (0..12).map(|_| (0..MEMBER_REPEATS).map(|_| RepeatScore::from(ratio())).collect()).collect();
            named += u32::from(member_set(&candidates(12), &scores).answer != MemberAnswer::Nothing);
        }
        // 5 % of 2000 are 100, with three standard deviations of a binomial count: 3 x sqrt(2000 x 0.05 x 0.95) = 29.
        assert!(named <= 129, "{named} of {sets}");
    }
}
