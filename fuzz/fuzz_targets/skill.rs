//! Runs the fuzz target `skill` of `crewdeck::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("skill", bytes);
});
