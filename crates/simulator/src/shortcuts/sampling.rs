//! Sampled simulation: a target's pass is measured in windows, and fast-forwarded between them.
//!
//! After Wunderlich et al., "SMARTS: Accelerating Microarchitecture Simulation via Rigorous Statistical Sampling" (ISCA
//! 2003): systematic windows, caches that are kept warm functionally, and a detailed warm-up before each window. There a
//! warm-up fills a pipeline; here it also lets neighbours take back what they hold of shared caches.

use waykeeper_workload::Xorshift;

use crate::engine::Engine;
use crate::engine::programs::Role;
use crate::engine::running::Running;
use crate::refused::Refused;
use crate::shortcuts::estimate::Estimate;
use crate::shortcuts::sampled::SampledPass;
use crate::shortcuts::window_warm_up::WindowWarmUp;
use crate::time::Ps;

/// How a pass is measured in windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassSampling {
    /// Windows of a pass.
    pub windows: u64,
    /// Accesses in each.
    pub accesses: u64,
    /// Picoseconds before each, in full detail.
    pub warm_up_ps: u64,
    /// Most of that goes by without time: all programs fast-forward together, each at the pace that it had in time.
    pub functional: bool,
    /// Decides where in its share of the pass each window lies; the windows of equal seeds lie at equal accesses.
    pub seed: u64,
}

impl PassSampling {
    /// The first access of a window of a pass of so many, without the offset that all windows of a pass have in common.
    pub(crate) fn first_of(&self, window: u64, pass: u64) -> u64 {
        (u128::from(pass) * u128::from(window) / u128::from(self.windows.max(1))) as u64
    }

    /// The accesses by which all windows of a pass can be later: as many as leave the last one within its share.
    pub(crate) fn room(&self, pass: u64) -> Option<u64> {
        (pass / self.windows.max(1)).checked_sub(self.accesses)
    }
}

impl Engine {
    /// Measures the target in windows from now on: its samples are estimates of whole passes, and
    /// [`Engine::estimates`] shows what they rest on. To be called before anything has run.
    ///
    /// # Errors
    /// A target that is no trace or takes no samples, windows that do not fit into a pass, and samples that are explained.
    pub fn sample(&mut self, sampling: PassSampling) -> Result<(), Refused> {
        let refuse = |why: String| Err(Refused::new("sampled", why));
        let Some(target) = self.programs.iter().position(|program| program.role == Role::Target) else {
            return refuse("there is no target that takes samples".into());
        };
        let Some(pass) = self.programs[target].pattern.pass_length() else {
            return refuse("the target is no trace; only passes of whole programs have windows".into());
        };
        if self.running[target].port().explains {
            return refuse("its samples are being explained, which needs all of each".into());
        }
        if sampling.windows == 0 || sampling.accesses == 0 {
            return refuse("expected one window of one access, or more".into());
        }
        if sampling.room(pass.accesses).is_none() {
            let PassSampling { windows, accesses, .. } = sampling;
            let fit = pass.accesses / windows;
            let why = format!(
                "{windows} windows of {accesses} accesses do not fit into a pass of {}; of {fit} they would",
                pass.accesses
            );
            return refuse(why);
        }
        let warm_up = match sampling.functional {
            true => self.warm_up_together(target, Ps::new(sampling.warm_up_ps)),
            false => None,
        };
        let warm_up = warm_up.unwrap_or_else(|| WindowWarmUp::in_time(Ps::new(sampling.warm_up_ps)));
        let Running::Stream(stream) = &mut self.running[target] else { return refuse("the target is no trace".into()) };
        let random = Xorshift::new(sampling.seed);
        stream.detour = Some(Box::new(SampledPass::new(sampling, warm_up, pass.accesses, random)));
        Ok(())
    }

    /// What the samples of a target that is measured in windows rest on, pass after pass.
    pub fn estimates(&self) -> &[Estimate] {
        let sampled = self.running.iter().find_map(|running| match running {
            Running::Stream(stream) => stream.detour.as_ref()?.as_any().downcast_ref::<SampledPass>(),
            Running::Tick(_) => None,
        });
        sampled.map_or(&[], SampledPass::estimates)
    }
}
