//! Runs one target of `crewdeck::fuzzing`; a promise that does not hold is a panic, which the fuzzer keeps.

/// Runs the target of that name.
///
/// # Panics
/// When there is none, or a promise does not hold.
pub fn run(name: &str, bytes: &[u8]) {
    let found = crewdeck::fuzzing::TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.unwrap_or_else(|| panic!("no target is called {name}"));
    if let Err(why) = target(bytes) {
        panic!("{name}: {why}");
    }
}
