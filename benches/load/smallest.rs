//! A minimal ratatui program that shows typed text: the lower bound of key echo on this machine.

use crossterm::event::{Event, KeyCode, KeyModifiers};

use crate::common::pty::Screen;
use crate::common::{SIZE, this};

const ASKED: &str = "CREWDECK_BENCH_SMALLEST";

pub fn is_asked_for() -> bool {
    std::env::var_os(ASKED).is_some()
}

/// Starts this minimal program in a terminal of its own.
pub fn start() -> Screen {
    let there = std::env::temp_dir();
    let screen = Screen::start_program(&this(), &there, SIZE.0, SIZE.1, &[], &[(ASKED, "1")]);
    screen.wait_for("typed:");
    screen
}

/// Draws a frame for each key until the terminal closes.
pub fn run() {
    let mut terminal = ratatui::init();
    let mut typed = String::new();
    loop {
        let drawn = terminal
            .draw(|frame| frame.render_widget(format!("typed:\n{typed}"), frame.area()))
            .is_ok();
        let Ok(event) = crossterm::event::read() else {
            break;
        };
        if let Event::Key(key) = event {
            match key.code {
                KeyCode::Char('u') if key.modifiers == KeyModifiers::CONTROL => typed.clear(),
                KeyCode::Char(character) => typed.push(character),
                _ => {}
            }
        }
        if !drawn {
            break;
        }
    }
    ratatui::restore();
}
