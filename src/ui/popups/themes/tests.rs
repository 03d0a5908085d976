//! Themes on whole screens: preview, choosing, cancelling, and complete redrawing.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::domain::custom_theme::CustomTheme;
use crate::ui::fixture::{busy, cells, press};
use crate::ui::keymap::{Action, SLASH};
use crate::ui::{ColorDepth, Effect, Theme, ThemeChoice, ThemeName, UiState};

fn saved_themes(done: &[Effect]) -> Vec<ThemeChoice> {
    let save = |d: &Effect| match d {
        Effect::SaveTheme(theme) => Some(theme.clone()),
        _ => None,
    };
    done.iter().filter_map(save).collect()
}

#[test]
fn theme_is_previewed_and_restored_by_escape() {
    let mut state = busy(100, 30);
    let seen = |state: &mut UiState, keys: &str| {
        let done = press(state, keys);
        (state.theme(), saved_themes(&done))
    };
    let [terminal, dark, light] =
        [ThemeName::Terminal, ThemeName::Dark, ThemeName::Light].map(ThemeChoice::from);
    let none = Vec::new();
    assert_eq!(seen(&mut state, "esc T"), (terminal.clone(), none.clone()));
    assert_eq!(seen(&mut state, "down"), (dark.clone(), none.clone()));
    assert_eq!(seen(&mut state, "down"), (light.clone(), none.clone()));
    assert_eq!(seen(&mut state, "esc"), (terminal.clone(), none.clone()));
    assert_eq!(
        seen(&mut state, "T down enter"),
        (dark.clone(), vec![dark.clone()])
    );
    assert!(state.popups.is_empty());
    // The picker opens with the saved theme selected. A search selects a theme too; without a match, the screen has the
    // saved theme.
    assert_eq!(seen(&mut state, "T"), (dark.clone(), none.clone()));
    assert_eq!(seen(&mut state, "\"zzz\""), (dark.clone(), none.clone()));
    assert_eq!(seen(&mut state, "enter"), (dark.clone(), none.clone()));
    assert_eq!(
        seen(&mut state, "ctrl+u \"lig\""),
        (light.clone(), none.clone())
    );
    assert_eq!(
        seen(&mut state, "enter"),
        (light.clone(), vec![light.clone()])
    );
}

#[test]
fn slash_command_and_palette_open_themes() {
    assert!(
        SLASH
            .iter()
            .any(|(word, action, _)| (*word, *action) == ("/theme", Action::Popup("themes")))
    );
    for keys in [
        "\"/theme\" enter down enter",
        "esc : \"theme\" enter down enter",
    ] {
        let mut state = busy(100, 30);
        assert_eq!(
            saved_themes(&press(&mut state, keys)),
            vec![ThemeChoice::from(ThemeName::Dark)],
            "{keys}"
        );
    }
}

/// Draws the screen in its current theme, with 24-bit colours.
fn draw_themed(state: &UiState) -> Buffer {
    cells(state, &Theme::of(&state.theme(), ColorDepth::True))
}

#[test]
fn themes_with_background_fill_every_cell() {
    for (keys, name) in [
        ("", ThemeName::Terminal),
        ("down", ThemeName::Dark),
        ("down down", ThemeName::Light),
    ] {
        let mut state = busy(100, 30);
        press(&mut state, &format!("esc T {keys}"));
        assert_eq!(state.theme(), name);
        let theme = Theme::new(name, ColorDepth::True);
        let grounds = [theme.ground.bg, theme.panel.bg, theme.selection.bg];
        for cell in draw_themed(&state).content {
            assert!(grounds.contains(&Some(cell.bg)), "{name:?} {cell:?}");
        }
    }
}

#[test]
fn border_titles_do_not_inherit_border_style() {
    for name in ThemeName::ALL {
        let mut state = busy(160, 45);
        press(&mut state, "esc 3");
        let theme = Theme::new(name, ColorDepth::True);
        let cells = cells(&state, &theme);
        let at = (0..160).find(|x| cells[(*x, 1)].symbol() == "L").unwrap();
        let expected = Style::reset().patch(theme.ground).patch(theme.title);
        let found = cells[(at, 1)].style();
        assert_eq!(found.add_modifier, expected.add_modifier, "{name:?}");
        assert_eq!(found.fg, expected.fg, "{name:?}");
    }
}

#[test]
fn custom_themes_are_offered_and_previewed() {
    let entries = [
        ("base", "dark"),
        ("ground", "#102030"),
        ("title", "#ffcc00"),
    ];
    let own = Arc::new(CustomTheme::parse("dusk", entries).unwrap());
    let mut state = busy(100, 30);
    state.set_own_themes(vec![own.clone()]);
    press(&mut state, "esc T \"dusk\"");
    assert_eq!(state.theme(), ThemeChoice::Custom(own.clone()));
    let cells = draw_themed(&state);
    let ground = Theme::of(&state.theme(), ColorDepth::True).ground.bg;
    assert!(cells.content.iter().any(|cell| Some(cell.bg) == ground));
    assert_ne!(
        ground,
        Theme::new(ThemeName::Dark, ColorDepth::True).ground.bg
    );
    assert_eq!(
        saved_themes(&press(&mut state, "enter")),
        vec![ThemeChoice::Custom(own)]
    );
    // The picker opens with the custom theme selected. The last row is the last custom theme.
    press(&mut state, "T");
    assert_eq!(state.theme().word(), "dusk");
    press(&mut state, "up");
    assert_eq!(state.theme(), ThemeName::Mono);
}
