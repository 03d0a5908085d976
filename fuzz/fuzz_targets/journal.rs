//! Fuzzes `crewdeck::fuzzing`: the target `journal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("journal", bytes);
});
