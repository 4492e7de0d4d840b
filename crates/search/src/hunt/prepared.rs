//! What a hunt knows before it measures: its target, the neighbours' cores, and what can be tried there.

use waykeeper_experiment::cases::{Case, Purpose};
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_linux::format_cpulist;
use waykeeper_platform::explain::read_toml_text;
use waykeeper_session::{Options, Session, SessionError, SingleRepeats};
use waykeeper_workload::{CacheShapes, Operation, Pattern, SHORTEST_GRID_NS, Workload};

use super::geometry::{Geometry, MemoryMap};
use super::hunting::{HuntError, HuntRequest};
use super::opened::open;
use super::pattern::NeighbourPattern;
use super::pool::CandidateSource;
use super::stress_ng::{Stressors, stressors};
use crate::choice::one_case;

/// Fresh repeats at least: as many as an interval needs.
const CONFIRMING: usize = 5;

/// Fresh repeats at least in which the worst neighbour and stress-ng's worst are compared.
const COMPARING: usize = 20;

/// What a hunt knows before it measures.
pub(super) struct PreparedHunt {
    /// Without what sweeps vary of neighbours and mitigations.
    pub request: HuntRequest,
    /// The target alone.
    pub bare: SingleRepeats,
    /// Repeats of the experiment.
    pub repeats: u32,
    /// The experiment as it is.
    pub with_neighbours: Session,
    pub target: String,
    pub target_period_ns: Option<u64>,
    pub cores: Vec<u32>,
    pub site: Site,
    /// What patterns are drawn from.
    pub geometry: Geometry,
    pub operations: Vec<Operation>,
    /// Bundled workloads that are tried, and unfair ones that were asked for.
    pub named: Vec<String>,
    pub stress_ng: Option<Stressors>,
}

impl PreparedHunt {
    /// Opens the experiment and looks at its place. Nothing is measured.
    ///
    /// # Errors
    /// A mistake in the experiment or the options.
    pub fn new(request: &HuntRequest) -> Result<Self, HuntError> {
        let loaded = Loaded::open(&request.experiment, request.sets.clone())?;
        let request = without_swept(request, &loaded)?;
        let options = || Options { on: request.on, ..Options::default() };
        let bare = Session::plan(open(&request, &[], &[])?, &options())?;
        let (target, pattern) = target(&bare)?;
        let target_period_ns = chosen_against(&pattern, bare.site().executor);
        let with_neighbours = Session::plan(loaded, &options())?;
        let cores = cores(&request, &with_neighbours)?;
        are_free(&request)?;
        let (site, repeats) = (bare.site().clone(), bare.settings().repeats);
        let bare = bare.one_by_one();
        let operations = operations(&request, &cores)?;
        let geometry = site.core(cores[0]).map(|core| Geometry::of(&core.caches));
        let geometry = geometry.unwrap_or_else(|| Geometry::of(&CacheShapes::default()));
        let geometry = geometry.with(operations.clone()).on_cores(cores.len()).beside_period(target_period_ns);
        let geometry = geometry.sharing(shared_buffer(&request, &site, &pattern)?);
        let memory = bare.parameters().and_then(MemoryMap::of);
        let geometry = memory.iter().fold(geometry, |geometry, memory| geometry.beside_memory(memory));
        let mut named = bundled();
        named.extend(also(&request, &cores)?);
        let stress_ng = request.stress_ng.then(|| installed(site.executor, &geometry)).transpose()?;
        if request.members > 0 && site.executor == ExecutorKind::Host {
            let message = "its members are sets of a simulated platform's assumed parameters, and this is a machine";
            return Err(InputError::in_option(format!("--members {}", request.members), message).into());
        }
        Ok(Self {
            request,
            bare,
            repeats,
            with_neighbours,
            target,
            target_period_ns,
            cores,
            site,
            geometry,
            operations,
            named,
            stress_ng,
        })
    }

    /// At most so many candidates: all bundled workloads, and at least one other.
    pub fn candidates(&self) -> usize {
        self.request.candidates.max(self.named.len() + 1)
    }

    /// Fresh repeats of what is shown.
    pub fn fresh_repeats(&self) -> usize {
        let least = if self.request.stress_ng { COMPARING } else { CONFIRMING };
        self.request.turns.unwrap_or_else(|| (self.repeats as usize).max(least))
    }
}

/// The request without what sweeps vary of neighbours and mitigations: a hunt has its own.
fn without_swept(request: &HuntRequest, loaded: &Loaded) -> Result<HuntRequest, InputError> {
    let replacement =
        loaded.without_swept("waykeeper hunt", |path| ["neighbours", "mitigations"].contains(&path[0]))?;
    let sets = request.sets.iter().cloned().chain(replacement.sets).collect();
    Ok(HuntRequest { sets, ..request.clone() })
}

/// What the target is called, and what it does.
fn target(session: &Session) -> Result<(String, Pattern), InputError> {
    let cases: Vec<&Case> =
        session.cases().cases.iter().filter(|case| case.purpose == Purpose::Case && case.mitigation == NONE).collect();
    one_case(&cases)?;
    match cases.first() {
        Some(case) if !case.throughput => {
            let called = format!("{} on core {}", case.target.called(), case.target.core);
            Ok((called, case.target.pattern.clone()))
        }
        Some(_) => Err(session
            .loaded()
            .error("targets.0.measure", "a hunt is for the latency of a target; expected `latency`")),
        None => Err(session.loaded().error("targets", "a hunt is for one target; expected one")),
    }
}

/// The period of a target whose passes are at known times, in whole nanoseconds: those with an `offset`, and all on a simulated
/// platform, where everything begins within a microsecond and nothing drifts.
fn chosen_against(target: &Pattern, executor: ExecutorKind) -> Option<u64> {
    let period_ns = target.period_ns().filter(|ns| *ns >= SHORTEST_GRID_NS && ns.fract() == 0.0)?;
    (target.offset_ns().is_some() || executor == ExecutorKind::Sim).then_some(period_ns as u64)
}

/// Bytes of the target's buffer, where neighbours that access it are asked for.
fn shared_buffer(request: &HuntRequest, site: &Site, target: &Pattern) -> Result<Option<u64>, InputError> {
    if !request.shared_lines {
        return Ok(None);
    }
    let refuse = |why: String| InputError::in_option("--also shared-lines", why);
    if site.executor != ExecutorKind::Sim {
        let why = format!("on {} each workload has memory of its own; expected a simulated platform", site.called);
        return Err(refuse(why));
    }
    // A pattern as large as the target fits into its buffer, where it has one.
    target.cannot_share(target).map_or(Ok(Some(target.data_bytes())), |why| Err(refuse(why)))
}

/// The cores of the neighbour.
fn cores(request: &HuntRequest, session: &Session) -> Result<Vec<u32>, InputError> {
    if !request.cores.is_empty() {
        return Ok(request.cores.clone());
    }
    let cases = session.cases().cases.iter().filter(|case| case.purpose == Purpose::Case);
    let mut cores: Vec<u32> = cases.flat_map(|case| case.neighbours.iter().map(|it| it.core)).collect();
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        let message =
            "the experiment has no neighbours, so their cores are not known; expected some, such as `--cores 2,3`";
        return Err(InputError::in_option("--cores", message));
    }
    Ok(cores)
}

/// Refuses a core of `--cores` that the place does not have, or that is the target's.
fn are_free(request: &HuntRequest) -> Result<(), HuntError> {
    if request.cores.is_empty() {
        return Ok(());
    }
    let options = Options { on: request.on, ..Options::default() };
    let any = [CandidateSource::Found(NeighbourPattern::smallest(Operation::Read).into())];
    match Session::plan(open(request, &any, &request.cores)?, &options) {
        Err(SessionError::Input(error)) if error.key.starts_with("neighbours.") => {
            Err(InputError::in_option(format!("--cores {}", format_cpulist(&request.cores)), error.message).into())
        }
        _ => Ok(()),
    }
}

/// The bundled workloads that do nothing but access memory as fast as they can, and leave others theirs.
fn bundled() -> Vec<String> {
    let is_neighbour = |text: &str| match read_toml_text(text) {
        Ok(Workload::Walk(walk)) => !walk.operation.is_unfair(),
        Ok(Workload::Stream(stream)) => !stream.operation.is_unfair(),
        Ok(Workload::Chase(_)) => true,
        _ => false,
    };
    let random = ["cache_stressor", "random_write"];
    let all =
        waykeeper_workload::bundled().iter().filter(|file| is_neighbour(file.text) || random.contains(&file.name));
    all.map(|file| file.name.to_owned()).collect()
}

/// The unfair workloads that were asked for. A place that would not run one refuses the hunt: left out silently, it would look as if
/// it did nothing.
fn also(request: &HuntRequest, cores: &[u32]) -> Result<Vec<String>, HuntError> {
    for name in &request.also {
        if let Some(why) = refusal(request, CandidateSource::Named(name.clone()), cores)? {
            return Err(InputError::in_option(format!("--also {name}"), why).into());
        }
    }
    Ok(request.also.clone())
}

/// What accesses may do at the place: what simulated cores have, and of the rest what it does not refuse and leaves others theirs.
fn operations(request: &HuntRequest, cores: &[u32]) -> Result<Vec<Operation>, HuntError> {
    let mut operations = Vec::new();
    for operation in Operation::ALL.into_iter().filter(|operation| !operation.is_unfair()) {
        let one = || CandidateSource::Found(NeighbourPattern::smallest(operation).into());
        if operation.is_simulated() || refusal(request, one(), cores)?.is_none() {
            operations.push(operation);
        }
    }
    Ok(operations)
}

/// Why the place does not run a neighbour.
fn refusal(request: &HuntRequest, candidate: CandidateSource, cores: &[u32]) -> Result<Option<String>, HuntError> {
    let options = Options { on: request.on, ..Options::default() };
    let single = match Session::plan(open(request, &[candidate], cores)?, &options) {
        Ok(session) => session.one_by_one(),
        Err(error) => return Ok(Some(error.to_string())),
    };
    Ok(match single.cases().iter().position(|case| !case.solo()) {
        Some(case) => single.refuses(case),
        None => Some(single.refused().first().map_or("the place does not run it".into(), |it| it.why.clone())),
    })
}

/// The stressors that are installed here.
fn installed(executor: ExecutorKind, geometry: &Geometry) -> Result<Stressors, InputError> {
    let refuse = |why: String| InputError::in_option("--beside stress-ng", why);
    match executor {
        ExecutorKind::Host => stressors(geometry.last()).map_err(refuse),
        ExecutorKind::Sim => {
            Err(refuse("stress-ng is a program, and simulated platforms run access patterns only".into()))
        }
    }
}
