//! The fuzz targets of the dashboard: they feed it hostile events, keys, pastes and sizes, and check the drawn cells.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{CheckResult, check_size, check_visible, ensure, hostile_events};
use crate::domain::timestamp::Timestamp;
use crate::protocol::{Command, Event};
use crate::ui::transcript::markdown::rows;
use crate::ui::{
    Effect, Msg, Theme, UiState, ViewCache, draw, keymap, keys as names, next_tick, update,
};

/// The time at which the dashboard starts, in seconds since the Unix epoch; noon UTC.
const NOON: f64 = 1_700_049_600.0;
/// Maximum size of the text in one terminal cell, in bytes: enough for the longest emoji, but not for a long sequence
/// of combining marks.
const CELL_MAX: usize = 72;
/// Maximum number of UI messages in one run of [`keys`]. Further bytes belong to the hostile text.
const MESSAGES_MAX: usize = 48;
/// The lowest code that [`message`] turns into a bound key. It turns lower codes into other UI messages.
const FIRST_BOUND: u8 = 40;

/// Terminal sizes in columns and rows: one for each layout of the dashboard, and one that is too small.
const SIZES: [(u16, u16); 4] = [(160, 45), (100, 30), (60, 16), (9, 3)];

/// Returns all keys that are bound to an action in any context, each once.
fn bound_keys() -> Vec<KeyEvent> {
    let names = keymap::TABLE.iter().flat_map(|binding| binding.keys);
    let unique: BTreeSet<&str> = names.flat_map(|keys| keys.split(' ')).collect();
    unique
        .into_iter()
        .filter_map(|name| names::parse(name).ok())
        .collect()
}

/// Returns the input bytes that the fuzz target `keys` reads as bound keys: one byte for each key. If there are more
/// keys than bytes left, the last keys get none.
pub fn bytes_of_bound_keys() -> impl Iterator<Item = u8> {
    (FIRST_BOUND + 1..=u8::MAX).take(bound_keys().len())
}

/// Returns the UI message for the code `byte`: a key, a mouse event, a paste, an edited text, a tick or a resize.
/// `bound` are the bound keys, `text` is the text of pastes and the source of typed characters, and `at` is the time in
/// seconds since the Unix epoch.
fn message(byte: u8, bound: &[KeyEvent], text: &str, at: f64) -> Msg {
    let size = usize::from(byte) * 7;
    let tiny = |n: usize| u16::try_from(n % 200).unwrap_or(0);
    let mouse = |kind| {
        Msg::Mouse(MouseEvent {
            kind,
            column: tiny(size),
            row: tiny(size / 3) / 4,
            modifiers: KeyModifiers::NONE,
        })
    };
    let key = |code| Msg::Key(KeyEvent::new(code, KeyModifiers::NONE), Timestamp(at));
    match byte {
        0 => Msg::Paste(text.into()),
        1 => Msg::Edited(text.into()),
        2 => Msg::Tick {
            now: Timestamp(f64::NAN),
        },
        3 => Msg::Tick {
            now: Timestamp(1e308),
        },
        4 => Msg::Resize(tiny(text.len()), tiny(text.len() / 2)),
        5 => Msg::Resize(160, 45),
        6 => mouse(MouseEventKind::ScrollDown),
        7..18 => mouse(MouseEventKind::Down(MouseButton::Left)),
        18 => key(KeyCode::Esc),
        19 => key(KeyCode::Enter),
        20..FIRST_BOUND => {
            let nth = usize::from(byte - 20);
            key(KeyCode::Char(text.chars().nth(nth).unwrap_or('x')))
        }
        FIRST_BOUND.. => {
            let nth = usize::from(byte - FIRST_BOUND) % bound.len().max(1);
            match bound.get(nth) {
                Some(bound) => Msg::Key(*bound, Timestamp(at)),
                None => key(KeyCode::Esc),
            }
        }
    }
}

/// Checks the dashboard with a session in which all texts are the same hostile text. Each byte before the first zero
/// byte is a UI message, at most [`MESSAGES_MAX`] of them. If the first of these bytes is odd, the events have a time
/// in the far future. The rest of the input is the hostile text.
pub fn keys(bytes: &[u8]) -> CheckResult {
    let split = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let (run, rest) = bytes.split_at(split.min(MESSAGES_MAX));
    let text = String::from_utf8_lossy(rest.strip_prefix(b"\0").unwrap_or(rest));
    let odd_time = run.first().is_some_and(|b| b % 2 == 1);
    let time = if odd_time { 1e300 } else { NOON };
    let mut state = initial_state();
    for event in hostile_events::session_events(&text, time)? {
        check_effects(&update(&mut state, Msg::Event(event)))?;
    }
    let bound = bound_keys();
    for (second, byte) in (1u32..).zip(run) {
        // The zero byte is the separator, so the byte of a UI message is its code plus one.
        let msg = message(byte - 1, &bound, &text, NOON + f64::from(second));
        check_effects(&update(&mut state, msg))?;
        next_tick(&state);
    }
    check_drawing(&mut state, run.len())
}

/// Checks the parser of journals: each valid line can be written and read again without loss, and its event can be
/// drawn.
pub fn journal(bytes: &[u8]) -> CheckResult {
    let mut state = initial_state();
    for line in bytes.split(|b| *b == b'\n') {
        let Ok(event) = serde_json::from_slice::<Event>(line) else {
            continue;
        };
        let text = serde_json::to_vec(&event).map_err(|e| e.to_string())?;
        let again: Event =
            serde_json::from_slice(&text).map_err(|e| format!("reading after writing: {e}"))?;
        ensure(again == event, || {
            format!("an event changed after writing and reading: {again:?}")
        })?;
        check_effects(&update(&mut state, Msg::Event(event)))?;
        next_tick(&state);
    }
    check_drawing(&mut state, bytes.len())
}

/// Checks Markdown rendering. The first byte is the width in columns, the others are the text.
pub fn markdown(bytes: &[u8]) -> CheckResult {
    let (columns, bytes) = match bytes.split_first() {
        Some((first, rest)) => (usize::from(*first).max(1), rest),
        None => (80, bytes),
    };
    let text = String::from_utf8_lossy(bytes);
    let drawn = rows(&text, columns, &Theme::default(), &mut 0);
    for row in &drawn {
        let line: String = row.spans.iter().map(|s| s.content.as_ref()).collect();
        check_visible("a row", &line)?;
        ensure(row.width() <= columns, || {
            format!("{} > {columns}: {line:?}", row.width())
        })?;
    }
    check_size("the rows", drawn.len(), text.len(), 4)
}

fn initial_state() -> UiState {
    let mut state = UiState::new(160, 45, TimeZone::UTC);
    update(
        &mut state,
        Msg::Tick {
            now: Timestamp(NOON),
        },
    );
    state
}

/// Checks that the prompts among `effects` contain no control characters except newlines.
fn check_effects(effects: &[Effect]) -> CheckResult {
    for effect in effects {
        if let Effect::Command(Command::Prompt { text, .. }) = effect {
            let control = text.chars().find(|c| c.is_control() && *c != '\n');
            ensure(control.is_none(), || {
                format!("the prompt contains {control:?}")
            })?;
        }
    }
    Ok(())
}

/// Draws the state at its current size and at `SIZES[nth % SIZES.len()]`, and checks that every cell is visible text of
/// at most [`CELL_MAX`] bytes.
fn check_drawing(state: &mut UiState, nth: usize) -> CheckResult {
    let size = state.size;
    let current = (size.width, size.height);
    let other = Some(SIZES[nth % SIZES.len()]).filter(|other| *other != current);
    for (width, height) in [Some(current), other].into_iter().flatten() {
        if width == 0 || height == 0 {
            continue;
        }
        update(state, Msg::Resize(width, height));
        let failed = |e| format!("{width}x{height}: {e}");
        let mut terminal = Terminal::new(TestBackend::new(width, height)).map_err(failed)?;
        let mut cache = ViewCache::default();
        let theme = Theme::default();
        terminal
            .draw(|frame| draw(state, &mut cache, &theme, frame))
            .map_err(failed)?;
        let buffer = terminal.backend().buffer();
        for (at, cell) in buffer.content().iter().enumerate() {
            let symbol = cell.symbol();
            if symbol.len() > 1 || !symbol.is_ascii() || symbol < " " {
                let position = || {
                    format!(
                        "column {} of row {} at {width}x{height}",
                        at % usize::from(width),
                        at / usize::from(width)
                    )
                };
                check_visible(&position(), symbol)?;
                ensure(symbol.len() <= CELL_MAX, || {
                    format!("{}: the cell has {} bytes", position(), symbol.len())
                })?;
            }
        }
    }
    update(state, Msg::Resize(size.width, size.height));
    Ok(())
}
