//! The dashboard: hostile events, keys, pastes and sizes, and what stands in the cells afterwards.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{Held, Lines, bounded, hold, seen, story};
use crate::domain::stamp::Stamp;
use crate::protocol::{Command, Event};
use crate::ui::transcript::markdown::rows;
use crate::ui::{
    Do, Motion, Msg, Theme, UiState, ViewCache, draw, keymap, keys as names, next_tick, update,
};

/// When the stories happen.
const NOON: f64 = 1_700_049_600.0;
/// Largest cell, in bytes: longer than the longest emoji, and no heap of marks.
const CELL_MAX: usize = 72;
/// Most keys of one run.
const KEYS_MAX: usize = 48;

/// The sizes at which states are drawn: one for each layout, and one that is too small.
const SIZES: [(u16, u16); 4] = [(160, 45), (100, 30), (60, 16), (9, 3)];

/// What one key of a run is: the first of the bytes, a key each.
fn message(byte: u8, text: &str, at: f64) -> Msg {
    let bound: Vec<&str> = keymap::TABLE
        .iter()
        .flat_map(|b| b.keys)
        .flat_map(|k| k.split(' '))
        .collect();
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
    let key = |code| Msg::Key(KeyEvent::new(code, KeyModifiers::NONE), Stamp(at));
    match byte {
        0 => Msg::Paste(text.into()),
        1 => Msg::Edited(text.into()),
        2 => Msg::Tick {
            now: Stamp(f64::NAN),
        },
        3 => Msg::Tick { now: Stamp(1e308) },
        4 => Msg::Resize(tiny(text.len()), tiny(text.len() / 2)),
        5 => Msg::Resize(160, 45),
        6 => mouse(MouseEventKind::ScrollDown),
        7..18 => mouse(MouseEventKind::Down(MouseButton::Left)),
        18 => key(KeyCode::Esc),
        19 => key(KeyCode::Enter),
        20..40 => {
            let nth = usize::from(byte - 20);
            key(KeyCode::Char(text.chars().nth(nth).unwrap_or('x')))
        }
        40.. => {
            let name = bound
                .get(usize::from(byte - 40) % bound.len().max(1))
                .copied();
            match name.and_then(|n| names::parse(n).ok()) {
                Some(bound) => Msg::Key(bound, Stamp(at)),
                None => key(KeyCode::Esc),
            }
        }
    }
}

/// A crew whose every word is hostile, with a person at the keys: the bytes before the first zero byte are
/// keys and the like, those behind it the words.
pub fn keys(bytes: &[u8]) -> Held {
    let split = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let (run, rest) = bytes.split_at(split.min(KEYS_MAX));
    let text = String::from_utf8_lossy(rest.strip_prefix(b"\0").unwrap_or(rest));
    let odd_time = run.first().is_some_and(|b| b % 2 == 1);
    let time = if odd_time { 1e300 } else { NOON };
    let mut state = blank();
    for event in story::told(&text, time)? {
        did(&update(&mut state, Msg::Event(event)))?;
    }
    for (second, byte) in (1u32..).zip(run) {
        // The zero byte stands between the two, so the keys are counted from one.
        let msg = message(byte - 1, &text, NOON + f64::from(second));
        did(&update(&mut state, msg))?;
        next_tick(&state);
    }
    shown(&mut state, run.len())
}

/// The lines of a journal: each is read, written and read again as the same, and drawn.
pub fn journal(bytes: &[u8]) -> Held {
    let mut state = blank();
    for line in bytes.split(|b| *b == b'\n') {
        let Ok(event) = serde_json::from_slice::<Event>(line) else {
            continue;
        };
        let text = serde_json::to_vec(&event).map_err(|e| e.to_string())?;
        let again: Event = serde_json::from_slice(&text).map_err(|e| format!("read again: {e}"))?;
        hold(again == event, || {
            format!("another when read again: {again:?}")
        })?;
        did(&update(&mut state, Msg::Event(event)))?;
        next_tick(&state);
    }
    shown(&mut state, bytes.len())
}

/// Markdown at the width that the first byte says.
pub fn markdown(bytes: &[u8]) -> Held {
    let (columns, bytes) = match bytes.split_first() {
        Some((first, rest)) => (usize::from(*first).max(1), rest),
        None => (80, bytes),
    };
    let text = String::from_utf8_lossy(bytes);
    let drawn = rows(&text, columns, &Theme::default(), &mut 0);
    for row in &drawn {
        let line: String = row.spans.iter().map(|s| s.content.as_ref()).collect();
        seen("a row", &line, Lines::One)?;
        hold(row.width() <= columns, || {
            format!("{} > {columns}: {line:?}", row.width())
        })?;
    }
    bounded("the rows", drawn.len(), text.len(), 4)
}

fn blank() -> UiState {
    let mut state = UiState::new(160, 45, TimeZone::UTC, Motion::Full);
    update(&mut state, Msg::Tick { now: Stamp(NOON) });
    state
}

/// What the update wants done is what a person could mean: words for the crew hold no control characters.
fn did(wishes: &[Do]) -> Held {
    for wish in wishes {
        if let Do::Command(Command::Prompt { text, .. }) = wish {
            let odd = text.chars().find(|c| c.is_control() && *c != '\n');
            hold(odd.is_none(), || {
                format!("a message to the crew with {odd:?}")
            })?;
        }
    }
    Ok(())
}

/// Draws the state at its own size and at one of [`SIZES`], in turn with `nth`: every cell is seen, and no heap of marks.
fn shown(state: &mut UiState, nth: usize) -> Held {
    let size = state.size;
    for (width, height) in [(size.width, size.height), SIZES[nth % SIZES.len()]] {
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
                let place = || {
                    format!(
                        "column {} of row {} at {width}x{height}",
                        at % usize::from(width),
                        at / usize::from(width)
                    )
                };
                seen(&place(), symbol, Lines::One)?;
                hold(symbol.len() <= CELL_MAX, || {
                    format!("{}: a cell of {} bytes", place(), symbol.len())
                })?;
            }
        }
    }
    update(state, Msg::Resize(size.width, size.height));
    Ok(())
}
