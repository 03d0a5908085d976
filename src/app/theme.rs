//! The theme at the edge: what the surroundings allow, and what the person keeps.

use crate::config;
use crate::ui::{ColorDepth, ThemeName};

/// How many colours the surroundings promise.
pub fn color_depth() -> ColorDepth {
    let var = |name: &str| std::env::var(name).ok();
    let (no_color, colorterm, term) = (var("NO_COLOR"), var("COLORTERM"), var("TERM"));
    ColorDepth::of(no_color.as_deref(), colorterm.as_deref(), term.as_deref())
}

/// Writes the theme into the person's settings. What there is to say about it comes back: that it could not be
/// written is no reason to end.
pub fn keep(name: ThemeName, depth: ColorDepth) -> Option<String> {
    match (config::save_theme(name), depth) {
        (Err(error), _) => Some(format!("The theme is not remembered: {error:#}.")),
        (Ok(()), ColorDepth::None) => {
            Some("NO_COLOR is set: the theme shows its colours where it is not.".into())
        }
        (Ok(()), ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True) => None,
    }
}
