//! Everything that touches the settings of a machine: journal, apply, verify, restore.
