//! Fuzzes `crewdeck::fuzzing`: the target `roster`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("roster", bytes);
});
