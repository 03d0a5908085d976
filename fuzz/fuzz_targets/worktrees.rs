//! Fuzzes `crewdeck::fuzzing`: the target `worktrees`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crewdeck_fuzz::run("worktrees", bytes);
});
