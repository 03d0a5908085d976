//! Runs a target of `crewdeck::fuzzing` and panics if an invariant is violated, which the fuzzer records.

/// Runs the target `name`.
///
/// # Panics
/// Panics if there is no such target or an invariant is violated.
pub fn run(name: &str, bytes: &[u8]) {
    let found = crewdeck::fuzzing::TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.unwrap_or_else(|| panic!("no target is named {name}"));
    if let Err(why) = target(bytes) {
        panic!("{name}: {why}");
    }
}
