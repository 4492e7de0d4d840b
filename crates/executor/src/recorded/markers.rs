//! Markers of a program that runs under a recorder: a store to the head of its ring is one.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

use waykeeper_markers::{Mark, Pairs, Rings, VARIABLE, WriterMemory};
use waykeeper_trace::RecordKind;
use waykeeper_trace::foreign::{EventUse, ForeignEvent};
use waykeeper_trace::recording::RecordingWatch;
use waykeeper_trace::{RecordedPass, RecordedPasses};
use waykeeper_workload::Phase;

/// So long a marker may take from the line that announces it to its place in the ring. The program runs meanwhile.
const PUBLISHED: Duration = Duration::from_secs(5);

/// A recording ends when so many times the wanted passes were made of all phases: the one that is wanted may never come.
const OTHERS: usize = 10;

/// The ring of a thread, as the recorded program sees it.
#[derive(Debug, Clone, Copy)]
struct Ring {
    place: u32,
    memory: WriterMemory,
    /// The next marker is in its place. A store to the head that follows publishes it, and no other one does: Python writes
    /// the head twice.
    is_written: bool,
}

/// The rings of a recorded program.
pub struct MarkerWatch {
    rings: Rings,
    /// The rings' file as the program inherits it, and the variable that says so.
    handed_over: (OwnedFd, String),
    phase: Option<Phase>,
    only_passes: Option<usize>,
    process: u32,
    /// Threads that asked for a ring when the list of writers was made.
    known_claims: u32,
    writers: Vec<Ring>,
    pairs: Pairs,
    passes: Vec<RecordedPass>,
    begun: bool,
    is_enough: bool,
    without_address: bool,
}

impl MarkerWatch {
    /// Rings for a program that is recorded. With `only_passes`, what lies before the first of them is left out, and the
    /// recording ends with so many of the phase, or of any phase.
    ///
    /// # Errors
    /// No shared memory.
    pub fn new(phase: Option<Phase>, only_passes: Option<usize>) -> io::Result<Self> {
        let rings = Rings::create()?;
        let handed_over = rings.hand_over()?;
        Ok(Self {
            rings,
            handed_over,
            phase,
            only_passes,
            process: 0,
            known_claims: 0,
            writers: Vec::new(),
            pairs: Pairs::default(),
            passes: Vec::new(),
            begun: false,
            is_enough: false,
            without_address: false,
        })
    }

    /// What a user would want to know of the markers.
    pub fn remarks(&self) -> Vec<String> {
        let unpaired = self.pairs.unpaired();
        let open: usize = (0..waykeeper_markers::PHASES).map(|phase| self.pairs.open(phase).count()).sum();
        let open = if self.is_enough { 0 } else { open as u64 };
        let counted = [
            (unpaired.begins, "`wk_begin` of a phase that was open already"),
            (unpaired.ends, "`wk_end` of a phase that was not open"),
            (unpaired.lost, "markers dropped because a ring was full"),
            (unpaired.unknown_phase, "markers of a phase above 63"),
            (open, "passes open at the end"),
            (
                u64::from(self.without_address),
                "copy of `waykeeper.h` that does not say where its rings lie: its markers are not seen in a recording; \
                 `waykeeper markers` prints one that does",
            ),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        counted.map(|(count, what)| format!("{count} {what}")).collect()
    }

    /// The rings of threads that are new. Children of the program have their own, and are not recorded.
    fn look_for_writers(&mut self) {
        let claims = self.rings.claims();
        if claims == self.known_claims {
            return;
        }
        let writers = self.rings.writers();
        if writers.len() as u32 >= claims.min(64) {
            self.known_claims = claims;
        }
        for writer in writers.iter().filter(|writer| writer.process == self.process) {
            if !self.writers.iter().any(|known| known.place == writer.place) {
                self.writers.push(Ring { place: writer.place, memory: writer.memory, is_written: false });
                self.without_address |= writer.memory.first == 0;
            }
        }
    }

    /// The marker that a thread has just announced.
    fn announced(&mut self, place: u32) -> Result<Mark, String> {
        let begun = Instant::now();
        loop {
            if let Some(mark) = self.rings.take_next(place) {
                return Ok(mark);
            }
            if begun.elapsed() > PUBLISHED {
                return Err("a marker was announced and never written".into());
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    fn mark(&mut self, place: u32, records: u64) -> Result<(), String> {
        let mark = Mark { at: records, ..self.announced(place)? };
        // From here on records are made: the number of the first one is that of those so far.
        self.begun |= mark.begins;
        if let Some(pass) = self.pairs.take(mark) {
            self.passes.push(RecordedPass { first: pass.start, end: pass.end, phase: pass.phase });
            let is_enough = |most| self.count(pass.phase) >= most || self.passes.len() >= OTHERS * most;
            self.is_enough = self.only_passes.is_some_and(is_enough);
        }
        Ok(())
    }

    /// The passes of the phase that is wanted; of this one, where any is.
    fn count(&self, last: u32) -> usize {
        let is_wanted = |phase: u32| match &self.phase {
            None => phase == last,
            Some(Phase::Number(number)) => phase == *number,
            Some(Phase::Name(name)) => self.rings.phase_name(phase).as_ref() == Some(name),
        };
        self.passes.iter().filter(|pass| is_wanted(pass.phase)).count()
    }
}

impl RecordingWatch for MarkerWatch {
    fn prepare(&mut self, command: &mut Command) {
        command.env(VARIABLE, &self.handed_over.1);
    }

    fn started(&mut self, process: u32) -> Result<(), String> {
        self.process = process;
        Ok(())
    }

    fn sees(&mut self, event: &ForeignEvent, records: u64) -> Result<EventUse, String> {
        let kept = if self.only_passes.is_some() && !self.begun { EventUse::LeaveOut } else { EventUse::Record };
        let ForeignEvent::Access { kind, address, .. } = *event else { return Ok(kept) };
        self.look_for_writers();
        let Some(ring) = self.writers.iter_mut().find(|ring| ring.memory.holds(address)) else {
            return Ok(kept);
        };
        if kind != RecordKind::Load {
            let place = ring.place;
            ring.is_written |= ring.memory.writes(address, self.rings.taken(place));
            if ring.memory.publishes(address) && std::mem::take(&mut ring.is_written) {
                self.mark(place, records)?;
            }
        }
        // The rings are Waykeeper's: what a program does to them is no part of it.
        Ok(if self.is_enough { EventUse::End } else { EventUse::LeaveOut })
    }

    fn finish(&mut self) -> RecordedPasses {
        let mut passes = RecordedPasses::new(std::mem::take(&mut self.passes));
        let phases: Vec<u32> = passes.phases().into_keys().collect();
        passes.names = phases.into_iter().filter_map(|phase| Some((phase, self.rings.phase_name(phase)?))).collect();
        passes
    }
}
