//! Runs the fuzz target `acp` of `crewdeck::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("acp", bytes);
});
