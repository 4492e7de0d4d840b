//! Runs cases: on this Linux machine or in the simulator.
