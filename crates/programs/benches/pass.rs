//! A pass of each program: as it runs, and told to a probe that counts.

use criterion::{Criterion, criterion_group, criterion_main};
use waykeeper_programs::{ImageSize, NoProbe, Probe, ProgramName, Spec, WholeProgram};

/// Adds up what it is told.
struct Sum(u64);

impl Probe for Sum {
    fn load(&mut self, word: usize) {
        self.0 += word as u64;
    }
    fn follow(&mut self, word: usize) {
        self.0 += word as u64;
    }
    fn store(&mut self, word: usize) {
        self.0 += word as u64;
    }
    fn compute(&mut self, instructions: u32) {
        self.0 += u64::from(instructions);
    }
}

fn pass<P: Probe>(program: &mut WholeProgram, memory: &mut [u32], mut probe: P) -> P {
    while !program.step(memory, &mut probe) {}
    probe
}

fn passes(c: &mut Criterion) {
    let mut group = c.benchmark_group("pass");
    group.sample_size(10);
    for name in [ProgramName::Disparity, ProgramName::Mser] {
        for size in [ImageSize::Cif, ImageSize::Vga] {
            let mut program = WholeProgram::new(Spec::new(name, size, 1));
            let mut memory = vec![0; program.words()];
            program.lay_out(&mut memory);
            group.bench_function(format!("{name} {size}"), |b| b.iter(|| pass(&mut program, &mut memory, NoProbe)));
            group.bench_function(format!("{name} {size}, watched"), |b| {
                b.iter(|| pass(&mut program, &mut memory, Sum(0)).0);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, passes);
criterion_main!(benches);
