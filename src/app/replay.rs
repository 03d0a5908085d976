//! `crewdeck replay`: the dashboard over a recorded session. Nothing of it can be changed.

use anyhow::{Context, Result, bail};
use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::errand::Errand;
use super::pace::{Cause, Pace};
use super::{blocked_on, in_words, inputs, keys, mouse, now, resume, root, settings, theme, zone};
use crate::cli::Global;
use crate::config::Settings;
use crate::protocol::event::Level;
use crate::ui::replay::Player;
use crate::ui::terminal::{Copied, Screen};
use crate::ui::{
    Do, Motion, Msg, Theme, UiState, ViewCache, begin_replay, draw, next_tick, update,
};

/// Plays `session` (an id, the beginning of one, or `None`: the newest) until the person leaves.
///
/// # Errors
/// When there is no such session, nothing was recorded, or there is no terminal.
pub fn main(global: &Global, session: Option<&str>) -> Result<u8> {
    let root = root(global)?;
    let session = resume::choose(&root, session.unwrap_or_default())?;
    let events = resume::recorded(&root, &session)?;
    if events.is_empty() {
        bail!("nothing was recorded of session {session}");
    }
    let player = Player::new(events, global.speed.unwrap_or(1.0));
    let settings = settings(global, &root)?;
    blocked_on(play(player, &settings))?;
    Ok(0)
}

async fn play(player: Player, settings: &Settings) -> Result<()> {
    let keymap = keys::keymap(settings)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut screen = Screen::enter()
        .context("the replay needs a terminal (.crewdeck/sessions has the journals as they are)")?;
    let (width, height) = screen.size()?;
    let mut state = UiState::new(width, height, zone::local(), Motion::Full);
    begin_replay(&mut state, player);
    state.set_keymap(keymap);
    let depth = theme::color_depth();
    theme::take(settings, depth, &mut state);
    mouse::take(settings, None, &mut screen, &mut state)?;
    let mut cache = ViewCache::default();
    let mut keys = EventStream::new();
    let mut pace = Pace::default();
    let opened = Instant::now();
    let mut stale = Some(Cause::Key);
    update(&mut state, Msg::Tick { now: now() });
    screen.set_title("crewdeck replay")?;
    loop {
        let elapsed = opened.elapsed();
        if stale.is_some_and(|cause| pace.due(cause, elapsed) <= elapsed) {
            let theme = Theme::of(&state.theme(), depth);
            screen.draw(|frame| draw(&state, &mut cache, &theme, frame))?;
            pace.drawn(elapsed);
            stale = None;
        }
        let frame = stale.map(|cause| opened + pace.due(cause, opened.elapsed()));
        let tick = next_tick(&state).map(|wait| Instant::now() + wait);
        let wake = frame.into_iter().chain(tick).min();
        let mut cause = Cause::Event;
        let messages = tokio::select! {
            biased;
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            _ = hangup.recv() => return Ok(()),
            came = keys.next() => {
                cause = Cause::Key;
                let Some(came) = came else { return Ok(()) };
                came.and_then(inputs::with).context("the terminal can not be read")?.into_iter().filter_map(message).collect()
            }
            () = super::until(wake), if wake.is_some() => vec![Msg::Tick { now: now() }],
        };
        let resized = |m: &Msg| matches!(m, Msg::Resize(..));
        if messages.iter().any(resized) {
            screen.spoil();
        }
        let wishes = messages
            .into_iter()
            .flat_map(|message| update(&mut state, message));
        let wishes: Vec<Do> = wishes.collect();
        let mut errand = None;
        for wish in wishes {
            match wish {
                Do::Quit => return Ok(()),
                Do::Suspend => {
                    screen.suspend()?;
                    let (width, height) = screen.size()?;
                    update(&mut state, Msg::Resize(width, height));
                }
                Do::Print(text) => errand = Some(Errand::Print(text)),
                Do::ReadOutside(text) => errand = Some(Errand::Read(text)),
                Do::Copy(text) => match screen.copy(&text)? {
                    Copied::Sent | Copied::TooLong => {}
                },
                Do::Mouse(owner) => screen.set_mouse(owner)?,
                Do::SaveTheme(chosen) => {
                    if let Some(said) = theme::keep(&chosen, depth) {
                        state.say(Level::Warn, said);
                    }
                }
                // What is looked at again leaves no trace, and has no crew that could hear it.
                Do::SaveScreen(_)
                | Do::Call(_)
                | Do::Command(_)
                | Do::EditComposer
                | Do::StartDemo
                | Do::LookAgain
                | Do::MakeRepository => {}
            }
        }
        if let Some(errand) = errand {
            // Two readers of one terminal would share the keys.
            drop(keys);
            screen.give()?;
            let stop = CancellationToken::new();
            let done = tokio::select! {
                done = errand.run(&stop) => done,
                _ = interrupt.recv() => Ok(None),
                _ = terminate.recv() => return Ok(()),
                _ = hangup.recv() => return Ok(()),
            };
            screen.take()?;
            let (width, height) = screen.size()?;
            update(&mut state, Msg::Resize(width, height));
            if let Err(error) = done {
                state.say(Level::Warn, in_words(&error));
            }
            keys = EventStream::new();
        }
        if state.take_dirty() {
            stale = stale.max(Some(cause));
        }
    }
}

/// What an input means to the screen; `None`: nothing.
fn message(input: Input) -> Option<Msg> {
    match input {
        Input::Key(key) if key.kind == KeyEventKind::Release => None,
        Input::Key(key) => Some(Msg::Key(key, now())),
        Input::Paste(text) => Some(Msg::Paste(text)),
        Input::Mouse(mouse) => Some(Msg::Mouse(mouse)),
        Input::Resize(width, height) => Some(Msg::Resize(width, height)),
        Input::FocusGained | Input::FocusLost => None,
    }
}
