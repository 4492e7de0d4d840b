//! Images made from a seed, with what the programs look for: smooth shades, edges, flat regions, a little noise.

/// A grey image, 8 bits a pixel, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The pixels.
    pub pixels: Vec<u8>,
}

/// Sizes of the squares whose corners have random shades, and the weight of each.
const OCTAVES: [(usize, u64); 6] = [(128, 8), (64, 6), (32, 4), (16, 3), (8, 2), (4, 1)];

/// One flat ellipse for so many pixels.
const PIXELS_PER_ELLIPSE: usize = 2000;

/// Noise goes from minus this to plus this.
const NOISE: u64 = 2;

impl Image {
    /// An image from a function of column and row.
    pub fn from_fn(width: usize, height: usize, mut pixel: impl FnMut(usize, usize) -> u8) -> Self {
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Self { width, height, pixels: places.map(|(x, y)| pixel(x, y)).collect() }
    }

    /// The pixel at a column and row.
    pub fn at(&self, x: usize, y: usize) -> u8 {
        self.pixels[y * self.width + x]
    }

    /// A scene: shades at several scales (value noise), flat ellipses on them, noise over all.
    pub fn scene(seed: u64, width: usize, height: usize) -> Self {
        let ellipses = ellipses(seed, width, height);
        Self::from_fn(width, height, |x, y| {
            let flat = ellipses.iter().rev().find(|ellipse| ellipse.holds(x, y)).map(|ellipse| ellipse.shade);
            let shade = flat.unwrap_or_else(|| shade(seed, x, y));
            noisy(shade, random(&[seed, 3, x as u64, y as u64]))
        })
    }

    /// A scene from two places: what is at column x of the left image is further left in the right one, by a disparity
    /// that differs between the three thirds of the image (from top to bottom 6, 14 and 28 columns).
    pub fn stereo(seed: u64, width: usize, height: usize) -> [Self; 2] {
        let scene = Self::scene(seed, width + DISPARITIES[2], height);
        let left = Self::from_fn(width, height, |x, y| scene.at(x, y));
        let right = Self::from_fn(width, height, |x, y| {
            let disparity = DISPARITIES[(3 * y / height).min(2)];
            noisy(scene.at(x + disparity, y), random(&[seed, 4, x as u64, y as u64]))
        });
        [left, right]
    }
}

const DISPARITIES: [usize; 3] = [6, 14, 28];

struct Ellipse {
    x: i64,
    y: i64,
    half_width: i64,
    half_height: i64,
    shade: u8,
}

impl Ellipse {
    fn holds(&self, x: usize, y: usize) -> bool {
        let (dx, dy) = ((x as i64 - self.x) * self.half_height, (y as i64 - self.y) * self.half_width);
        dx * dx + dy * dy <= (self.half_width * self.half_height).pow(2)
    }
}

fn ellipses(seed: u64, width: usize, height: usize) -> Vec<Ellipse> {
    let count = (width * height / PIXELS_PER_ELLIPSE) as u64;
    let ellipse = |number| {
        let below = |what, bound: usize| (random(&[seed, 2, number, what]) % bound as u64) as i64;
        Ellipse {
            x: below(0, width),
            y: below(1, height),
            half_width: 3 + below(2, 16),
            half_height: 3 + below(3, 16),
            shade: below(4, 256) as u8,
        }
    };
    (0..count).map(ellipse).collect()
}

/// The weighted mean of shades at several scales, each interpolated between the corners of its squares.
fn shade(seed: u64, x: usize, y: usize) -> u8 {
    let mut sum = 0;
    for (size, weight) in OCTAVES {
        let corner = |dx, dy| random(&[seed, 1, size as u64, (x / size + dx) as u64, (y / size + dy) as u64]) & 0xff;
        let (right, down) = ((x % size) as u64, (y % size) as u64);
        let size = size as u64;
        let along = |dy| corner(0, dy) * (size - right) + corner(1, dy) * right;
        sum += weight * ((along(0) * (size - down) + along(1) * down) / (size * size));
    }
    (sum / OCTAVES.iter().map(|(_, weight)| weight).sum::<u64>()) as u8
}

fn noisy(shade: u8, random: u64) -> u8 {
    let noise = (random % (2 * NOISE + 1)) as i16 - NOISE as i16;
    (i16::from(shade) + noise).clamp(0, 255) as u8
}

/// 64 bits that depend on all numbers: SplitMix64's mixing (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014), once for each.
fn random(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |state, number| {
        let mut z = state.wrapping_add(*number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}
