//! crewdeck.
fn main() {}
