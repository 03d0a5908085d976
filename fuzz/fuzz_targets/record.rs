//! Fuzzes `crewdeck::fuzzing`: the target `record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("record", bytes);
});
