//! Fuzz targets: one for each parser of untrusted bytes.
//!
//! Each target accepts any bytes and returns an error if an invariant is violated. `fuzz/` and `tests/it/hostile.rs`
//! call the same functions, so `cargo test` checks all earlier findings of a fuzzer. The invariants of each target: no
//! panic, no stack overflow, an output size in proportion to the input, and no control or invisible characters in text
//! for the terminal.

mod acp;
mod editing;
mod extensions;
mod files;
mod hostile_events;
mod import;
mod mcp;
mod model_io;
mod screen;

use std::sync::LazyLock;

use regex::Regex;

pub use hostile_events::session_events;
pub use screen::bytes_of_bound_keys;

/// The result of a fuzz check. An error describes the violated invariant.
pub type CheckResult = Result<(), String>;

/// A function that checks one part of crewdeck with one input, which may be any bytes.
pub type FuzzTarget = fn(&[u8]) -> CheckResult;

/// The fuzz targets by name. Each has a file in `fuzz/fuzz_targets/` and a folder in `fuzz/corpus/`.
pub const TARGETS: &[(&str, FuzzTarget)] = &[
    ("sse", model_io::sse),
    ("tool", model_io::tool),
    ("mcp", mcp::mcp),
    ("acp", acp::acp),
    ("script", model_io::script),
    ("edit", editing::edit),
    ("task", files::task),
    ("import", import::import),
    ("messages", files::messages),
    ("roster", files::roster),
    ("worktrees", files::worktrees),
    ("skill", files::skill),
    ("role", extensions::role),
    ("settings", files::settings),
    ("image", files::image),
    ("servers", extensions::servers),
    ("hooks", extensions::hooks),
    ("answer", extensions::answer),
    ("record", files::record),
    ("journal", screen::journal),
    ("keys", screen::keys),
    ("markdown", screen::markdown),
];

/// Matches the characters that must not reach a terminal. `None` if the pattern is invalid; each check then fails. Uses
/// the tables of Unicode and not [`crate::domain::text`], because the fuzz targets test that module.
static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\x{FFF9}-\x{FFFB}]",
    )
    .ok()
});

/// Like [`check_visible`], but allows newlines.
///
/// # Errors
/// Returns the first forbidden character with its context.
pub fn check_visible_lines(what: &str, text: &str) -> CheckResult {
    text.split('\n')
        .try_for_each(|line| check_visible(what, line))
}

/// Checks that `text` contains no control characters, including newlines, and no invisible characters. Allows joiners
/// and variation selectors after a character to which they can belong. `what` names the text in the error.
///
/// # Errors
/// Returns the first forbidden character with its context.
pub fn check_visible(what: &str, text: &str) -> CheckResult {
    let hidden = HIDDEN.as_ref().ok_or("the pattern is invalid")?;
    for found in hidden.find_iter(text) {
        let before = text[..found.start()].chars().next_back();
        // Allow joiners and variation selectors, which are part of emoji and of some scripts.
        let follows_symbol = before.is_some_and(|b| !b.is_ascii() && !b.is_control());
        let is_allowed = match found.as_str() {
            "\u{200c}" | "\u{200d}" => follows_symbol,
            "\u{fe0e}" | "\u{fe0f}" => {
                follows_symbol || before.is_some_and(|b| b.is_ascii_digit() || "#*".contains(b))
            }
            _ => false,
        };
        if !is_allowed {
            let from = text[..found.start()].char_indices().rev().nth(20);
            let rest: String = text[from.map_or(0, |(at, _)| at)..]
                .chars()
                .take(60)
                .collect();
            return Err(format!("{what} contains {:?}: {rest:?}", found.as_str()));
        }
    }
    Ok(())
}

fn ensure(condition: bool, message: impl FnOnce() -> String) -> CheckResult {
    if condition { Ok(()) } else { Err(message()) }
}

/// Checks that `size` is at most `factor` * `input` + 4096, all in bytes. `what` names the output in the error.
fn check_size(what: &str, size: usize, input: usize, factor: usize) -> CheckResult {
    ensure(size <= input * factor + 4096, || {
        format!("{what}: {size} bytes from {input}, more than {factor} times as much")
    })
}
