//! The layout of the recorder that a timed loop writes into: what it costs in cache lines is part of the measurement.
//!
//! A recorder is a header, a histogram of all samples and a histogram of the maxima of excursion clusters. The
//! histograms have the bucket layout of HdrHistogram (Tene, <https://hdrhistogram.github.io/HdrHistogram/>) with two
//! significant digits: exact up to 255 counter ticks, within 1/128 above. A quiet loop touches the first header line and
//! one histogram line for every eight neighbouring values it sees; the second header line and the cluster histogram are
//! touched only on an excursion. The C twin of this file is `c/recorder.h`; a test compares the two.

/// Values below this many ticks have a bucket of their own (2 significant digits: 2 x 10^2 rounded up to 2^8).
pub const SUB_BUCKETS: u64 = 256;
/// Half of [`SUB_BUCKETS`]: the number of buckets in each further doubling.
pub const SUB_BUCKETS_HALF: u64 = 128;
/// log2 of [`SUB_BUCKETS_HALF`].
pub const SUB_BUCKETS_HALF_MAGNITUDE: u32 = 7;
/// The first value, in ticks, that is counted as overflow: 2^36 (25 s at 2.7 GHz).
pub const OVERFLOW_FROM: u64 = 1 << 36;
/// Buckets in one histogram: (doublings above the first 256 values, and one, and one) x 128.
pub const BUCKETS: u64 = (36 - 8 + 2) * SUB_BUCKETS_HALF;
/// Bytes of the header: two lines of 64 bytes.
pub const HEADER_BYTES: u64 = 128;
/// Offset of the header line that is touched only on an excursion.
pub const EXCURSION_LINE: u64 = 64;
/// Offset of the histogram of samples.
pub const COUNTS_OFFSET: u64 = HEADER_BYTES;
/// Offset of the histogram of cluster maxima.
pub const CLUSTER_COUNTS_OFFSET: u64 = COUNTS_OFFSET + BUCKETS * 8;
/// Bytes of a recorder.
pub const BYTES: u64 = CLUSTER_COUNTS_OFFSET + BUCKETS * 8;

/// The bucket of a value below [`OVERFLOW_FROM`], 0 to [`BUCKETS`] - 1 (HdrHistogram's `countsArrayIndex`).
pub const fn bucket(ticks: u64) -> u64 {
    let doubling = 64 - (ticks | (SUB_BUCKETS - 1)).leading_zeros() - (SUB_BUCKETS_HALF_MAGNITUDE + 1);
    let within = ticks >> doubling;
    ((doubling as u64 + 1) << SUB_BUCKETS_HALF_MAGNITUDE) + within - SUB_BUCKETS_HALF
}

/// The lowest value of a bucket; the inverse of [`bucket`].
pub const fn lowest_value(bucket: u64) -> u64 {
    if bucket < SUB_BUCKETS {
        return bucket;
    }
    let doubling = (bucket >> SUB_BUCKETS_HALF_MAGNITUDE) - 1;
    ((bucket & (SUB_BUCKETS_HALF - 1)) + SUB_BUCKETS_HALF) << doubling
}

/// Offset, within the recorder, of the counter that a sample of `ticks` increments.
pub const fn count_offset(ticks: u64) -> u64 {
    COUNTS_OFFSET + bucket(ticks) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_hdr_histograms() {
        // By hand: 255 is the last exact value; 256 and 257 share the first bucket of the next doubling, number 256.
        assert_eq!([bucket(0), bucket(255), bucket(256), bucket(257), bucket(258)], [0, 255, 256, 256, 257]);
        assert_eq!(bucket(511), 383);
        assert_eq!(bucket(512), 384);
        assert_eq!(bucket(OVERFLOW_FROM - 1), BUCKETS - 1);
        for b in 0..BUCKETS {
            assert_eq!(bucket(lowest_value(b)), b);
            if b > 0 {
                assert_eq!(bucket(lowest_value(b) - 1), b - 1);
            }
        }
    }
}
