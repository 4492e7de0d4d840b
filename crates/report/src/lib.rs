//! Tables for the terminal and comparisons of runs.
