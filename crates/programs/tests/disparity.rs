//! The disparities are those that were put in, and those of a direct sum over each window.

use proptest::prelude::*;
use waykeeper_programs::disparity::Disparity;
use waykeeper_programs::{Image, NoProbe};

fn run(left: &Image, right: &Image, shifts: u32) -> Vec<u32> {
    let mut disparity = Disparity::new(left.width, left.height, shifts);
    let mut memory = vec![0; disparity.words()];
    disparity.lay_out(left, right, &mut memory);
    while !disparity.step(&mut memory, &mut NoProbe) {}
    disparity.result(&memory).to_vec()
}

/// Random shades below 64: the squares of differences then add up to less than 2^24 in these images, so that the single
/// precision of the integral image is exact.
fn texture(seed: u64, width: usize, height: usize) -> Image {
    let mut state = seed | 1;
    Image::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 58) as u8
    })
}

#[test]
fn a_shifted_image_has_that_disparity_everywhere_inside() {
    let (width, height) = (60, 20);
    for shift in [0, 1, 5, 15] {
        let wide = texture(shift as u64 + 7, width + shift, height);
        let left = Image::from_fn(width, height, |x, y| wide.at(x, y));
        // What is at column x on the left is at x - shift on the right.
        let right = Image::from_fn(width, height, |x, y| wide.at(x + shift, y));
        let result = run(&left, &right, 16);
        // A window reaches from 2 pixels before to 4 after its own; columns below the shift have no counterpart.
        for y in 2..height - 4 {
            for x in shift + 2..width - 4 {
                assert_eq!(result[y * width + x], shift as u32, "shift {shift} at ({x}, {y})");
            }
        }
    }
}

/// The definition: for each pixel the first shift whose window of 7 x 7 has the least sum of squares, with zeros outside
/// of both images; the number of shifts where every sum is 255 x 255 or more.
fn by_definition(left: &Image, right: &Image, shifts: u32) -> Vec<u32> {
    let at = |image: &Image, x: i64, y: i64| {
        let inside = (0..image.width as i64).contains(&x) && (0..image.height as i64).contains(&y);
        if inside { i64::from(image.at(x as usize, y as usize)) } else { 0 }
    };
    let sum = |x: usize, y: usize, shift: i64| -> i64 {
        let mut sum = 0;
        for wy in y as i64 - 2..=y as i64 + 4 {
            for wx in x as i64 - 2..=x as i64 + 4 {
                // The right image moves within its frame of 4 zeros; what leaves it is lost, what comes in is 0.
                let from = wx - shift;
                let moved = if from < -4 { 0 } else { at(right, from, wy) };
                sum += (at(left, wx, wy) - moved).pow(2);
            }
        }
        sum
    };
    let places = (0..left.height).flat_map(|y| (0..left.width).map(move |x| (x, y)));
    let best = |(x, y)| {
        let mut best = (255 * 255, shifts);
        for shift in 0..shifts {
            let sum = sum(x, y, shift.into());
            if sum < best.0 {
                best = (sum, shift);
            }
        }
        best.1
    };
    places.map(best).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn all_disparities_are_those_of_the_definition(seed in any::<u64>(), width in 1usize..30, height in 1usize..20, shifts in 1u32..40) {
        let (left, right) = (texture(seed, width, height), texture(seed ^ 0xabcd, width, height));
        prop_assert_eq!(run(&left, &right, shifts), by_definition(&left, &right, shifts));
    }
}

#[test]
fn a_generated_pair_has_the_disparities_it_was_made_with() {
    let (width, height) = (128, 96);
    let [left, right] = Image::stereo(3, width, height);
    let result = run(&left, &right, 64);
    // Rows 2 to 27, 34 to 59 and 66 to 91 have their whole window in one third.
    for (rows, expected) in [(2..28, 6), (34..60, 14), (66..92, 28)] {
        let pixels = rows.flat_map(|y| (34..width - 4).map(move |x| y * width + x));
        let (right, all) = pixels.fold((0, 0), |(right, all), at| (right + u32::from(result[at] == expected), all + 1));
        // Flat ellipses have no texture but noise; everything else is found.
        assert!(right * 10 > all * 7, "{right} of {all} pixels have the disparity {expected}");
    }
}

#[test]
fn a_second_pass_gives_the_same() {
    let [left, right] = Image::stereo(1, 40, 30);
    let mut disparity = Disparity::new(40, 30, 8);
    let mut memory = vec![0; disparity.words()];
    disparity.lay_out(&left, &right, &mut memory);
    while !disparity.step(&mut memory, &mut NoProbe) {}
    let first = disparity.result(&memory).to_vec();
    while !disparity.step(&mut memory, &mut NoProbe) {}
    assert_eq!(disparity.result(&memory), first);
}
