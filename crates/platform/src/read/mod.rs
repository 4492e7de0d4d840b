//! Reading records from the values of a file, TOML or JSON, with the path of what is wrong.

mod deserializer;
mod file_value;
mod unique;

pub use deserializer::ReadError;
pub use file_value::FileValue;
pub use unique::UniqueKeys;
