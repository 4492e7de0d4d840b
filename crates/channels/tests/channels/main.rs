//! The table of made-up machines and of bundled platforms.

mod machines;
mod platforms;
