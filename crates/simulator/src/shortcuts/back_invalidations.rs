//! How often filters take away lines of the target whose sets a neighbour passes.

use crate::line::Line;

/// More passes of a window are not distinguished.
const MOST_PASSES: u64 = 64;

/// What was seen in time of lines that the target touches seldom, for the filter of a cluster and that of the interconnect.
/// Lines that every pass touches tell little: the target itself is at work in their sets, and brings them back at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BackInvalidations {
    /// Lines that are looked at since the last skip, and which filters had an entry of them then.
    watched: Vec<(Line, [bool; 2])>,
    /// Steps of neighbours through the set of a line that had an entry.
    passes: [f64; 2],
    /// Lines that were taken in them.
    lines: [f64; 2],
}

impl BackInvalidations {
    /// From now on these lines are looked at; filters have an entry of them or not.
    pub fn watch(&mut self, lines: Vec<(Line, [bool; 2])>) {
        self.watched = lines;
    }

    /// Since then filters have taken these lines, and neighbours have made so many steps through the set of a line, in a
    /// filter.
    pub fn seen(&mut self, lost: &[Vec<Line>; 2], passes: impl Fn(Line, usize) -> u64) {
        let chances = self.chances();
        for (line, has_entry) in &self.watched {
            for at in (0..2).filter(|at| has_entry[*at]) {
                let passes = passes(*line, at).min(MOST_PASSES);
                if passes == 0 {
                    continue;
                }
                let is_lost = lost[at].contains(line);
                self.lines[at] += f64::from(u8::from(is_lost));
                self.passes[at] += if is_lost { expected_pass(chances[at], passes) } else { passes as f64 };
            }
        }
    }

    /// With which probability a step takes a line; 1 while nothing was seen.
    pub fn chances(&self) -> [f64; 2] {
        [0, 1].map(|at| if self.passes[at] == 0.0 { 1.0 } else { self.lines[at] / self.passes[at] })
    }
}

/// In which of so many passes a line went, in the mean, if it went in one of them and each takes it with a probability.
fn expected_pass(chance: f64, passes: u64) -> f64 {
    let (mut weight, mut weights, mut sum) = (1.0, 0.0, 0.0);
    for pass in 1..=passes {
        weights += weight;
        sum += weight * pass as f64;
        weight *= 1.0 - chance;
    }
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_of_a_loss_by_hand() {
        // Sure to go in the first; any of three; 2/3 and 1/3 of two, as the first takes half and the second a quarter.
        assert_eq!([(1.0, 3), (0.0, 3), (0.5, 2)].map(|(chance, of)| expected_pass(chance, of)), [1.0, 2.0, 4.0 / 3.0]);
    }

    #[test]
    fn only_lines_with_an_entry_tell() {
        let mut counts = BackInvalidations::default();
        assert_eq!(counts.chances(), [1.0, 1.0]);
        let [seven, eight, nine, eleven] = [7, 8, 9, 11].map(Line::new);
        counts.watch(vec![(seven, [true, false]), (eight, [true, true]), (nine, [true, true])]);
        // 9 is not passed. In the cluster's filter 7 goes in the one pass, 8 stays through two.
        let passes = |line: Line| u64::from(line.number() % 3) * u64::from(line != nine);
        counts.seen(&[vec![seven, nine, eleven], vec![seven]], |line, _| passes(line));
        assert_eq!(counts.chances(), [1.0 / 3.0, 0.0]);
    }

    #[test]
    fn the_probability_is_found_however_many_passes_a_window_has() {
        let mut random = waykeeper_workload::Xorshift::new(5);
        for (chance, passes) in [(0.02, 2), (0.3, 1), (0.3, 4), (0.9, 2)] {
            let mut counts = BackInvalidations::default();
            for _ in 0..20_000 {
                counts.watch(vec![(Line::new(1), [true, false])]);
                let goes = (0..passes).any(|_| (random.below(1 << 20) as f64) < chance * f64::from(1 << 20));
                counts.seen(&[if goes { vec![Line::new(1)] } else { vec![] }, vec![]], |_, _| passes);
            }
            let found = counts.chances()[0];
            assert!((found - chance).abs() < 0.01 + 0.02 * chance, "{chance} in {passes} passes: {found}");
        }
    }
}
