//! The layouts: the key goes through them, and what has the keys stays in view.

use pretty_assertions::assert_eq;

use crate::domain::screen::{Arrangement, ScreenChoice};
use crate::ui::fixture::{busy, press};
use crate::ui::layout::layout;
use crate::ui::pane::{Focus, Pane};
use crate::ui::{Do, UiState};

fn with(arrangement: Arrangement, width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    state.set_screen(ScreenChoice {
        layout: arrangement,
        ..ScreenChoice::default()
    });
    state
}

#[test]
fn the_key_goes_round_and_each_is_remembered() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    for expected in [Arrangement::Board, Arrangement::Focus, Arrangement::Wall] {
        let done = press(&mut state, "=");
        assert_eq!(state.screen.layout, expected);
        assert_eq!(done, [Do::SaveScreen(state.screen)]);
        let seen = layout(&state, state.size).pane(Pane::Board);
        assert!(seen.is_some(), "{expected:?} loses the pane with the keys");
    }
}

#[test]
fn whatever_has_the_keys_is_in_view_in_every_layout() {
    for arrangement in Arrangement::ALL {
        for (width, height) in [(160, 45), (100, 30), (70, 20), (60, 16)] {
            let mut state = with(arrangement, width, height);
            press(&mut state, "esc 1");
            for pane in Pane::ALL {
                press(&mut state, &pane.number().to_string());
                assert_eq!(state.focus, Focus::Pane(pane));
                let seen = layout(&state, state.size).pane(pane);
                assert!(seen.is_some(), "{arrangement:?} {width}x{height} {pane:?}");
            }
            press(&mut state, "i");
            let composer = layout(&state, state.size).composer;
            assert!(composer.is_some(), "{arrangement:?} {width}x{height}");
        }
    }
}

#[test]
fn the_board_has_the_room_whoever_has_the_keys() {
    for (width, height) in [(240, 60), (160, 45), (100, 30), (100, 16)] {
        let mut state = with(Arrangement::Board, width, height);
        press(&mut state, "esc 3");
        let room = |state: &UiState| layout(state, state.size).pane(Pane::Board);
        let before = room(&state);
        let area = before.unwrap().area();
        for pane in [Pane::Lead, Pane::Todo, Pane::Team, Pane::Inbox] {
            press(&mut state, &pane.number().to_string());
            assert_eq!(room(&state), before, "{width}x{height} {pane:?}");
            for (other, place) in layout(&state, state.size).panes {
                let is_small = other == Pane::Board || place.area() < area;
                assert!(is_small, "{width}x{height} {other:?}");
            }
        }
    }
}
