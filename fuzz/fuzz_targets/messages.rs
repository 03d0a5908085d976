//! Runs the fuzz target `messages` of `crewdeck::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("messages", bytes);
});
