//! Fuzzes `crewdeck::fuzzing`: the target `edit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("edit", bytes);
});
