//! Fuzzes `crewdeck::fuzzing`: the target `tool`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("tool", bytes);
});
