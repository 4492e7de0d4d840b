//! Experiment files, the case matrix, histograms, the run schema, statistics and verdicts.
