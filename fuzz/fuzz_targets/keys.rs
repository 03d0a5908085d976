//! Fuzzes `crewdeck::fuzzing`: the target `keys`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("keys", bytes);
});
