//! The regions are those that one finds by hand, or by flooding the image anew for every threshold.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use waykeeper_programs::mser::{ExtremalRegion, Mser};
use waykeeper_programs::{Image, NoProbe};

fn run(image: &Image) -> Vec<ExtremalRegion> {
    let mut mser = Mser::new(image.width, image.height);
    let mut memory = vec![0; mser.words()];
    mser.lay_out(image, &mut memory);
    while !mser.step(&mut memory, &mut NoProbe) {}
    mser.regions(&memory)
}

fn image(rows: &[&[u8]]) -> Image {
    Image::from_fn(rows[0].len(), rows.len(), |x, y| rows[y][x])
}

#[test]
fn two_dark_spots_on_a_light_ground() {
    let image = image(&[
        &[9, 9, 9, 9, 9, 9], //
        &[9, 1, 1, 9, 5, 9],
        &[9, 1, 1, 9, 5, 9],
        &[9, 9, 9, 9, 9, 9],
    ]);
    let regions = run(&image);
    let told: Vec<_> = regions.iter().map(|region| (region.value, region.area, region.parent)).collect();
    // The spot of 4 pixels at 1, that of 2 at 5, and all 24 at 9 around both.
    assert_eq!(told, [(1, 4, 2), (5, 2, 2), (9, 24, 2)]);
    // With a delta of 2 nothing changes for the spots from above; from below there is nothing: 4/4, 2/2. The ground: the
    // larger of both lies 2 or more below it: (24 - 4) / 24.
    assert_eq!(regions.iter().map(|region| region.variation).collect::<Vec<_>>(), [1.0, 1.0, 20.0 / 24.0]);
    // Both spots vary more than the ground.
    assert_eq!(regions.iter().map(|region| region.is_stable).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn a_staircase_of_shades() {
    let regions = run(&image(&[&[0, 1, 2, 3, 4, 5]]));
    // One region for each shade, areas 1 to 6. At value + 2 there are 2 pixels more, at value - 2 there are 2 less:
    // (3 - 0) / 1, (4 - 0) / 2, (5 - 1) / 3, (6 - 2) / 4, (6 - 3) / 5, (6 - 4) / 6.
    let variations = [3.0, 2.0, 4.0 / 3.0, 1.0, 3.0 / 5.0, 2.0 / 6.0];
    for (number, region) in regions.iter().enumerate() {
        assert_eq!((usize::from(region.value), region.area), (number, number as u32 + 1));
        assert_eq!(region.parent, (number + 1).min(5));
        assert_eq!(region.variation, variations[number] as f32);
        assert_eq!(region.is_stable, number == 5);
    }
    assert_eq!(regions.len(), 6);
}

#[test]
fn corners_touch() {
    let regions = run(&image(&[&[0, 7], &[7, 0]]));
    assert_eq!(regions.iter().map(|region| (region.value, region.area)).collect::<Vec<_>>(), [(0, 2), (7, 4)]);
}

#[test]
fn an_image_of_one_shade_is_one_region() {
    let regions = run(&Image::from_fn(7, 5, |_, _| 255));
    assert_eq!(regions.len(), 1);
    assert_eq!((regions[0].area, regions[0].parent, regions[0].is_stable), (35, 0, true));
}

/// Pixels of a connected set.
type Set = BTreeSet<usize>;

/// The connected sets of pixels that are at most as light as the threshold, by flooding.
fn sets_at(image: &Image, threshold: i32) -> Vec<Set> {
    let dark = |at: usize| i32::from(image.pixels[at]) <= threshold;
    let (mut sets, mut seen) = (Vec::new(), Set::new());
    for start in 0..image.pixels.len() {
        if !dark(start) || seen.contains(&start) {
            continue;
        }
        let (mut set, mut open) = (Set::new(), vec![start]);
        while let Some(at) = open.pop() {
            if !set.insert(at) {
                continue;
            }
            let (x, y) = ((at % image.width) as i64, (at / image.width) as i64);
            for ny in y - 1..=y + 1 {
                for nx in x - 1..=x + 1 {
                    if (0..image.width as i64).contains(&nx) && (0..image.height as i64).contains(&ny) {
                        let neighbour = ny as usize * image.width + nx as usize;
                        if dark(neighbour) && !set.contains(&neighbour) {
                            open.push(neighbour);
                        }
                    }
                }
            }
        }
        seen.extend(&set);
        sets.push(set);
    }
    sets
}

#[derive(Debug, PartialEq)]
struct Expected {
    value: u8,
    area: u32,
    around: Option<Set>,
    variation: f32,
    is_stable: bool,
}

/// Every region by its pixels, from the definitions, without any forest.
fn by_definition(image: &Image) -> BTreeMap<Set, Expected> {
    let sets: Vec<Vec<Set>> = (-2..=257).map(|threshold| sets_at(image, threshold)).collect();
    let at = |threshold: i32| &sets[(threshold + 2) as usize];
    let mut regions = BTreeMap::new();
    for value in 0..=255u8 {
        for set in at(value.into()).iter().filter(|set| set.iter().any(|pixel| image.pixels[*pixel] == value)) {
            let holds = |other: &&Set| set.is_subset(other);
            let around =
                (i32::from(value) + 1..=255).find_map(|above| at(above).iter().find(holds).filter(|s| *s != set));
            let top = at(i32::from(value) + 2).iter().find(holds).expect("it only grows").len();
            let bottom = at(i32::from(value) - 2).iter().filter(|other| other.is_subset(set)).map(Set::len).max();
            let variation = (top - bottom.unwrap_or(0)) as f32 / set.len() as f32;
            let (area, around) = (set.len() as u32, around.cloned());
            regions.insert(set.clone(), Expected { value, area, around, variation, is_stable: true });
        }
    }
    let pairs: Vec<(Set, Set)> =
        regions.iter().filter_map(|(set, region)| Some((set.clone(), region.around.clone()?))).collect();
    for (inner, outer) in pairs {
        let loser = if regions[&inner].variation <= regions[&outer].variation { outer } else { inner };
        regions.get_mut(&loser).expect("it is one of them").is_stable = false;
    }
    regions
}

/// Shades from a palette: a small one makes large flat regions.
fn any_image() -> impl Strategy<Value = Image> {
    let shape = (1usize..12, 1usize..12, prop_oneof![Just(2u8), Just(6), Just(255)]);
    shape.prop_flat_map(|(width, height, shades)| {
        let pixels = prop::collection::vec(0..=shades, width * height);
        pixels.prop_map(move |pixels| Image { width, height, pixels })
    })
}

proptest! {
    #[test]
    fn all_regions_are_those_of_the_definition(image in any_image()) {
        let found = run(&image);
        let expected = by_definition(&image);
        prop_assert_eq!(found.len(), expected.len());
        let pixels = |region: &ExtremalRegion| {
            let sets = sets_at(&image, region.value.into());
            sets.into_iter().find(|set| set.contains(&region.pixel)).expect("its pixel is dark enough")
        };
        for (number, region) in found.iter().enumerate() {
            let around = (region.parent != number).then(|| pixels(&found[region.parent]));
            let found = Expected {
                value: region.value,
                area: region.area,
                around,
                variation: region.variation,
                is_stable: region.is_stable,
            };
            prop_assert_eq!(Some(&found), expected.get(&pixels(region)));
        }
    }
}

#[test]
fn a_second_pass_gives_the_same() {
    let image = Image::scene(1, 64, 48);
    let mut mser = Mser::new(image.width, image.height);
    let mut memory = vec![0; mser.words()];
    mser.lay_out(&image, &mut memory);
    while !mser.step(&mut memory, &mut NoProbe) {}
    let first = mser.regions(&memory);
    while !mser.step(&mut memory, &mut NoProbe) {}
    assert_eq!(mser.regions(&memory), first);
    assert!(first.len() > 10, "{} regions", first.len());
}
