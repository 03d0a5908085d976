//! Hostile input: one door for each reader of bytes from outside, with the promises that it keeps.
//!
//! Each target takes any bytes and says which promise does not hold. The fuzz targets in `fuzz/` and
//! `tests/it/hostile.rs` call the same functions, so what a fuzzer once found is checked by every `cargo test`.
//! What each holds: no panic, no stack overflow, an output in proportion to the input, and nothing on the way
//! to a terminal that the terminal would obey or that a reader could not see.

mod editing;
mod files;
mod screen;
mod story;
mod wire;

use std::sync::LazyLock;

use regex::Regex;

pub use story::told;

/// Whether the promises hold; the error says which one does not.
pub type Held = Result<(), String>;

/// A target: takes any bytes.
pub type Target = fn(&[u8]) -> Held;

/// All targets by name. `fuzz/` has a file and a corpus for each.
pub const TARGETS: &[(&str, Target)] = &[
    ("sse", wire::sse),
    ("tool", wire::tool),
    ("script", wire::script),
    ("edit", editing::edit),
    ("task", files::task),
    ("letters", files::letters),
    ("roster", files::roster),
    ("worktrees", files::worktrees),
    ("skill", files::skill),
    ("settings", files::settings),
    ("record", files::record),
    ("journal", screen::journal),
    ("keys", screen::keys),
    ("markdown", screen::markdown),
];

/// What no terminal may be sent: from Unicode's own tables, and not from the list in
/// [`crate::domain::text`], which is what is being checked.
static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\x{FFF9}-\x{FFFB}]",
    )
    .ok()
});

/// Which line ends may stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// None: a row, a title, a name.
    One,
    /// Newlines.
    Many,
}

/// Holds when a terminal shows all of `text` and obeys none of it. `what` names it in the error.
///
/// # Errors
/// The first character that is obeyed or hidden.
pub fn seen(what: &str, text: &str, lines: Lines) -> Held {
    let hidden = HIDDEN.as_ref().ok_or("the pattern is none")?;
    for found in hidden.find_iter(text) {
        let before = text[..found.start()].chars().next_back();
        let is_sign = before.is_some_and(|b| !b.is_ascii() && !b.is_control());
        let is_fine = match found.as_str() {
            "\n" => lines == Lines::Many,
            "\u{200c}" | "\u{200d}" => is_sign,
            "\u{fe0e}" | "\u{fe0f}" => {
                is_sign || before.is_some_and(|b| b.is_ascii_digit() || "#*".contains(b))
            }
            _ => false,
        };
        if !is_fine {
            let from = text[..found.start()].char_indices().rev().nth(20);
            let rest: String = text[from.map_or(0, |(at, _)| at)..]
                .chars()
                .take(60)
                .collect();
            return Err(format!("{what} holds {:?}: {rest:?}", found.as_str()));
        }
    }
    Ok(())
}

/// Holds when `is` does.
fn hold(is: bool, what: impl FnOnce() -> String) -> Held {
    if is { Ok(()) } else { Err(what()) }
}

/// Holds when an output of `size` is in proportion to an input of `of`.
fn bounded(what: &str, size: usize, of: usize, factor: usize) -> Held {
    hold(size <= of * factor + 4096, || {
        format!("{what}: {size} from {of}, more than {factor} times as much")
    })
}
