//! Renders a scene for a snapshot: for each size the text, followed by one character per cell that stands for its
//! style.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::UiState;
use crate::ui::fixture::cells;
use crate::ui::shell::layout::layout;
use crate::ui::tests::scenes::{Scene, Shows};
use crate::ui::text::width;
use crate::ui::theme::test_theme;

/// Returns the snapshot of a scene, followed by a legend of the style characters.
pub fn of(scene: &Scene) -> String {
    let mut out = String::new();
    let mut all_styles = String::new();
    for (width, height) in &scene.sizes {
        let state = (scene.make)(*width, *height);
        let buffer = cells(&state, &test_theme::theme());
        let shown = shown_areas(scene, &state, &buffer);
        let style = styles(&buffer, &shown);
        let place = match (scene.shows, shown.first()) {
            (Shows::Popup, Some(at)) => format!(" at {},{}", at.x, at.y),
            (Shows::Screen | Shows::Pane(_) | Shows::Popup, _) => String::new(),
        };
        let words = words(&buffer, &shown);
        let _ = writeln!(out, "{width}x{height}{place}\n{words}\n{style}");
        all_styles += &style;
    }
    out + &test_theme::legend(&all_styles)
}

/// Returns the areas of the screen that the snapshot of a scene shows.
fn shown_areas(scene: &Scene, state: &UiState, buffer: &Buffer) -> Vec<Rect> {
    let layout = layout(state, buffer.area);
    let seen = match scene.shows {
        Shows::Screen => return vec![buffer.area],
        Shows::Pane(pane) => layout.pane(pane),
        Shows::Popup => popup(buffer),
    };
    let seen = seen.unwrap_or_else(|| panic!("{}: not in view at {}", scene.name, buffer.area));
    vec![seen, layout.hints]
}

/// Returns the area of the popup on the screen; `None` if no popup is open.
fn popup(buffer: &Buffer) -> Option<Rect> {
    let mut over = buffer
        .area
        .positions()
        .filter(|at| test_theme::is_popup(&buffer[*at]));
    let one = |x, y| Rect::new(x, y, 1, 1);
    let first = over.next()?;
    Some(over.fold(one(first.x, first.y), |all, at| all.union(one(at.x, at.y))))
}

/// Returns the text in the areas `places`, without trailing blanks.
pub fn words(buffer: &Buffer, places: &[Rect]) -> String {
    let mut out = String::new();
    for row in places.iter().flat_map(|place| place.rows()) {
        let mut line = String::new();
        let mut hidden = 0;
        for at in row.columns() {
            // The cell after a wide character belongs to that character.
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            let symbol = buffer[(at.x, at.y)].symbol();
            hidden = width(symbol).saturating_sub(1);
            line += symbol;
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// Returns the styles in the areas `places`, as one character per cell.
fn styles(buffer: &Buffer, places: &[Rect]) -> String {
    let mut out = String::new();
    for row in places.iter().flat_map(|place| place.rows()) {
        let line: String = row
            .columns()
            .map(|at| test_theme::style_character(&buffer[(at.x, at.y)]))
            .collect();
        out += line.trim_end();
        out.push('\n');
    }
    out
}
