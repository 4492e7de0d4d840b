//! The capacity probe inside a room. It learns about masks as everywhere: by what a chase loses.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_control::probe::{NotMeasured, ProbePlan, ProbeSamples, Prober};
use waykeeper_platform::CoreId;
use waykeeper_workload::Pattern;

use crate::socket::client::{Client, ClientError};
use crate::socket::protocol::Start;

/// Runs probes as simulated tasks of the calling process.
pub struct RoomProber {
    client: Mutex<Client>,
    /// Learns how many arrangements of a probe were walked, and how many there are.
    progress: Box<dyn Fn(usize, usize) + Sync>,
}

impl RoomProber {
    /// On a connection to the room. `progress` learns how many arrangements of a probe were walked, and how many there are.
    pub fn new(client: Client, progress: impl Fn(usize, usize) + Sync + 'static) -> Self {
        Self { client: Mutex::new(client), progress: Box::new(progress) }
    }
}

fn refused(error: ClientError) -> NotMeasured {
    NotMeasured::Refused(error.to_string())
}

impl Prober for RoomProber {
    fn measure(&self, plan: &ProbePlan, stop: &AtomicBool) -> Result<ProbeSamples, NotMeasured> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = client.memory(plan.core, plan.chase().data_bytes()).map_err(refused)?;
        let samples = measure(&mut client, plan, memory, stop, &self.progress);
        let freed = client.free(memory).map_err(refused);
        let samples = samples?;
        freed?;
        Ok(samples)
    }
}

fn measure(
    client: &mut Client,
    plan: &ProbePlan,
    memory: u64,
    stop: &AtomicBool,
    progress: &dyn Fn(usize, usize),
) -> Result<ProbeSamples, NotMeasured> {
    let tick_ns = client.status().map_err(refused)?.tick_ns;
    let mut samples = ProbeSamples::default();
    for repeat in 0..plan.repeats {
        let arrangements = [
            (&mut samples.positive, None),
            (&mut samples.negative, Some(plan.same_class)),
            (&mut samples.treated, Some(plan.neighbour)),
        ];
        let each = arrangements.len();
        for (at, (times, streams)) in arrangements.into_iter().enumerate() {
            progress(repeat * each + at, plan.repeats * each);
            if stop.load(Ordering::Relaxed) {
                return Err(NotMeasured::Interrupted);
            }
            // Twice: the first walk brings the lines in, the second lets the replacement policy see them used.
            walk(client, plan.core, plan.chase(), Some(memory), 2)?;
            if let Some(core) = streams {
                walk(client, core, plan.stream(), None, 1)?;
            }
            let ticks = walk(client, plan.core, plan.chase(), Some(memory), 1)?;
            times.push(ticks * tick_ns / plan.elements() as f64);
        }
    }
    Ok(samples)
}

/// Walks a workload through so many times, and returns the mean ticks of a walk.
fn walk(
    client: &mut Client,
    core: CoreId,
    pattern: Pattern,
    memory: Option<u64>,
    walks: u64,
) -> Result<f64, NotMeasured> {
    let start = Start { target: true, memory, samples: Some(walks), ..Start::task("probe", pattern, core) };
    let id = client.start(start).map_err(refused)?;
    let waited = client.until(id, walks);
    client.stop(id).map_err(refused)?;
    waited.map_err(refused)?;
    let latency = client.samples(id).map_err(refused)?.latency;
    latency.map(|latency| latency.mean).ok_or(NotMeasured::Lost)
}
