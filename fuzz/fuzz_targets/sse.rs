//! Fuzzes `crewdeck::fuzzing`: the target `sse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("sse", bytes);
});
