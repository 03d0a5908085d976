//! Fuzzes `crewdeck::fuzzing`: the target `task`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("task", bytes);
});
