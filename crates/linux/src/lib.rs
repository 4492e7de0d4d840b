//! What Linux says about a machine: sysfs and procfs under a root, scheduling, memory, counters.
