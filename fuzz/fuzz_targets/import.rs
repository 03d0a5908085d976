//! Runs the fuzz target `import` of `crewdeck::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("import", bytes);
});
