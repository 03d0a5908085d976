//! Fuzzes `crewdeck::fuzzing`: the target `script`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("script", bytes);
});
