//! Runs the fuzz target `answer` of `crewdeck::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("answer", bytes);
});
