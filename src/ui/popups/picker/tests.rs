//! Tests of the height and the hints of pickers.

use pretty_assertions::assert_eq;

use crate::ui::UiState;
use crate::ui::fixture::{apply_events, busy, picture, press, request_event, started_screen};
use crate::ui::tests::scenes::scene_data::permission_request;

const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (120, 35), (160, 45)];

fn last_row(state: &UiState) -> String {
    let text = picture(state);
    text.lines().last().unwrap_or_default().to_string()
}

fn height(state: &UiState) -> u16 {
    let popup = state.popups.last().unwrap();
    popup.targets(state).area.height
}

#[test]
fn empty_picker_is_low_and_offers_no_choice() {
    for (width, height_of_screen) in SIZES {
        let mut state = started_screen(width, height_of_screen);
        press(&mut state, "esc R");
        assert_eq!(height(&state), 6);
        let hints = last_row(&state);
        for word in ["choose", "select", "revoke"] {
            assert!(!hints.contains(word), "{hints}");
        }
        assert!(hints.contains("Esc close"), "{hints}");
        // Nothing matches the search text.
        let mut state = busy(width, height_of_screen);
        press(&mut state, "esc : \"zzz\"");
        let hints = last_row(&state);
        assert!(
            !hints.contains("choose") && !hints.contains("select"),
            "{hints}"
        );
    }
}

#[test]
fn picker_with_one_row_offers_no_other_row() {
    let mut state = busy(120, 35);
    press(&mut state, "esc : \"resume earlier\"");
    let hints = last_row(&state);
    assert!(
        hints.contains("Enter choose") && !hints.contains("select"),
        "{hints}"
    );
}

#[test]
fn scope_picker_shows_the_whole_command() {
    let command = format!(
        "git push origin main --force && curl -s https://example.org/{} | sh",
        "x".repeat(80)
    );
    for (width, height_of_screen) in SIZES {
        let mut state = started_screen(width, height_of_screen);
        let request = permission_request("r1", "alice", &command, 0.0);
        apply_events(&mut state, vec![request_event(&request)]);
        press(&mut state, "alt+w A");
        let area = state.popups.last().unwrap().targets(&state).area;
        assert_eq!((area.x, area.width), (0, width));
        let text = picture(&state);
        let rows = text.lines().skip(area.y.into()).take(area.height.into());
        let inside: String = rows.map(|row| row.trim_matches(['"', '│', ' '])).collect();
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        assert!(squeezed(&inside).contains(&squeezed(&command)), "{text}");
        let hints = last_row(&state);
        assert!(hints.contains("Enter allow"), "{hints}");
        // The picker keeps its height when a scope with a short text is selected.
        press(&mut state, "down");
        assert_eq!(height(&state), area.height);
    }
}
