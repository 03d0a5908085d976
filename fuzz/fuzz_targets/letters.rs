//! Fuzzes `crewdeck::fuzzing`: the target `letters`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("letters", bytes);
});
