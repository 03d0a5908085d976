//! Backgrounds of code and of changed lines, mixed from the other colours of a theme.

use ratatui::style::{Color, Modifier, Style};

use crate::ui::theme::{Theme, color_math};

/// Share of the text colour in the background of code, in percent. The rest is the background of the screen or of
/// popups, whichever has less contrast to the text, so that code stands out on both.
const CODE: u16 = 6;
/// How much of the colour for added or removed text is mixed into the background of a changed line, in percent.
const LINE: u16 = 14;
/// How much of the colour for added or removed text is mixed into the background of changed words, in percent.
const WORD: u16 = 34;

/// Minimum contrast ratio of code to its background. The built-in themes have more.
const CONTRAST_MIN: f64 = 2.0;

/// Sets the backgrounds of code, changed lines and changed words. A background is left out in these cases:
///
/// - Text on it would have less contrast than [`CONTRAST_MIN`].
/// - The theme uses the terminal's own colours, whose values are unknown.
/// - It is the background of a changed line or of changed words, and the theme has no 24-bit colours. Smaller palettes
///   lack shades that are close enough to the background of the screen.
///
/// Changed words that get no background are reversed.
pub fn set(theme: &mut Theme) {
    let on_code = [
        theme.text,
        theme.dim,
        theme.added,
        theme.removed,
        theme.keyword,
        theme.string,
        theme.number,
        theme.comment,
        theme.function,
        theme.type_name,
    ];
    // With the colours of a custom theme, code may be unreadable on the mixed background.
    let is_readable = |ground: &Color| {
        let contrast = |style: Style| color_math::contrast(style.fg?, *ground);
        on_code
            .iter()
            .all(|style| contrast(*style).is_none_or(|found| found >= CONTRAST_MIN))
    };
    let mixed =
        |ground: Style, of: Style, percent| mix(ground.bg?, of.fg?, percent).filter(is_readable);
    let under =
        |color: Option<Color>| color.map_or_else(Style::new, |color| Style::new().bg(color));
    let is_true = |color: &Color| matches!(color, Color::Rgb(..));
    let to_text = |ground: &Style| color_math::contrast(theme.text.fg?, ground.bg?);
    let (ground, panel) = (theme.ground, theme.panel);
    let base = if to_text(&panel) < to_text(&ground) {
        panel
    } else {
        ground
    };
    theme.code_ground = under(mixed(base, theme.text, CODE));
    let changes = [theme.added, theme.removed];
    let line = changes.map(|of| mixed(theme.ground, of, LINE).filter(is_true));
    // Changed words are in the colour of normal text.
    let word = changes.map(|of| {
        let ground = mix(theme.ground.bg?, of.fg?, WORD).filter(is_true)?;
        let contrast = color_math::contrast(theme.text.fg?, ground)?;
        (contrast >= CONTRAST_MIN).then_some(ground)
    });
    [theme.added_line, theme.removed_line] = line.map(under);
    [theme.added_word, theme.removed_word] = word.map(|color| match color {
        Some(color) => theme.text.bg(color),
        None => Style::new().add_modifier(Modifier::REVERSED),
    });
}

/// Mixes `percent` of the colour `of` into the colour `ground`. The result is a 24-bit colour if both colours are
/// 24-bit colours, else one of xterm's 256 colours. `None` if one of the two is a default or ANSI colour of the
/// terminal, whose value is unknown.
fn mix(ground: Color, of: Color, percent: u16) -> Option<Color> {
    let is_own = |color| !matches!(color, Color::Rgb(..) | Color::Indexed(16..));
    if is_own(ground) || is_own(of) {
        return None;
    }
    let (ground_rgb, of_rgb) = (color_math::rgb(ground)?, color_math::rgb(of)?);
    let [red, green, blue] = [0, 1, 2].map(|at: usize| {
        let sum = u16::from(ground_rgb[at]) * (100 - percent) + u16::from(of_rgb[at]) * percent;
        u8::try_from(sum / 100).unwrap_or(u8::MAX)
    });
    let is_true = matches!((ground, of), (Color::Rgb(..), Color::Rgb(..)));
    Some(if is_true {
        Color::Rgb(red, green, blue)
    } else {
        color_math::nearest_of_256([red, green, blue])
    })
}
