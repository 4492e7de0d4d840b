//! The winner's rank where the assumed parameters of a simulated platform have other values.

use std::path::Path;

use toml::Value;
use waykeeper_executor::ExecutorError;
use waykeeper_experiment::{Loaded, Set};
use waykeeper_platform::knob::{knobs, with_values};
use waykeeper_session::{SessionError, named_platform};
use waykeeper_workload::Xorshift;

use super::hunting::{HuntError, HuntRequest};
use super::pool::{CandidateSource, Scored};
use super::record::MemberRanks;

/// Repeats of each neighbour in a member.
pub(super) const MEMBER_REPEATS: usize = 3;

/// Draws that may end in a platform that cannot be, for each member.
const TRIES: usize = 20;

/// Measures neighbours on a platform file.
pub(super) type MeasureOn<'a> =
    dyn FnMut(&HuntRequest, &[CandidateSource]) -> Result<Vec<Vec<f64>>, ExecutorError> + 'a;

/// The rank of the worst one found among the bundled ones, in so many sets of the platform's assumed parameters. A stop leaves out
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
    let Some(winner) = confirmed.iter().find(|scored| matches!(scored.source, CandidateSource::Found(_))) else {
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
    let mut ranks = MemberRanks { ranks: Vec::new(), worse: Vec::new(), unusable: 0, repeats: MEMBER_REPEATS as u64 };
    while ranks.ranks.len() < request.members {
        let mut means = Err(refused(format!("none of {TRIES} sets of parameters can be simulated")));
        for _ in 0..TRIES {
            let values: Vec<(&str, Value)> =
                knobs.iter().map(|knob| (knob.key.as_str(), knob.draw(&mut || random.next_u64()))).collect();
            let written = with_values(&platform, &values).ok().and_then(|platform| toml::to_string(&platform).ok());
            let measured = written.map(|text| {
                std::fs::write(&file, text).map_err(|error| refused(format!("{}: {error}", file.display())))?;
                Ok::<_, HuntError>(measure(&on_platform(request, &file), &candidates))
            });
            match measured.transpose()? {
                Some(Ok(scores)) => {
                    means = Ok(scores);
                    break;
                }
                Some(Err(ExecutorError::Stopped)) => return Ok(Some(ranks)),
                Some(Err(_)) | None => ranks.unusable += 1,
            }
        }
        let (rank, worse) = rank(&candidates, &means?);
        ranks.ranks.push(rank);
        for name in worse {
            match ranks.worse.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => ranks.worse.push((name, 1)),
            }
        }
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

/// The rank of the first candidate, 1 for the worst neighbour, and the names of those that are worse.
fn rank(candidates: &[CandidateSource], scores: &[Vec<f64>]) -> (u64, Vec<String>) {
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    let own = scores.first().map_or(0.0, |scores| mean(scores));
    let worse = candidates.iter().zip(scores).skip(1).filter(|(_, scores)| mean(scores) > own);
    let names: Vec<String> = worse
        .filter_map(|(source, _)| match source {
            CandidateSource::Named(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    (names.len() as u64 + 1, names)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::NeighbourPattern;
    use super::*;
    use waykeeper_workload::Operation;

    #[test]
    fn a_rank_counts_those_that_are_worse() {
        let found = CandidateSource::Found(NeighbourPattern::smallest(Operation::Read).into());
        let named = ["a", "b", "c"].map(|name| CandidateSource::Named(name.into()));
        let candidates: Vec<CandidateSource> = std::iter::once(found).chain(named).collect();
        let of = |means: [f64; 4]| rank(&candidates, &means.map(|mean| vec![mean - 0.1, mean + 0.1]));
        assert_eq!(of([3.0, 1.0, 2.0, 2.5]), (1, vec![]));
        assert_eq!(of([2.0, 1.0, 2.5, 3.0]), (3, vec!["b".to_owned(), "c".to_owned()]));
        // What a place refuses has no repeats, and is no worse than anything.
        assert_eq!(rank(&candidates[..2], &[vec![1.5], vec![]]), (1, vec![]));
    }
}
