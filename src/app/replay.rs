//! `crewdeck replay`: shows a recorded session in a read-only dashboard.

use std::path::Path;

use anyhow::{Context, Result, bail};
use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::external_program::ExternalProgram;
use super::frame_limiter::{FrameCause, FrameLimiter};
use super::pictures::PictureLoader;
use super::signals::{Signalled, Signals};
use super::{
    block_on, describe_error, export, inputs, keys, mouse, now, resume, root, settings, theme,
};
use crate::cli::GlobalOptions;
use crate::config::Settings;
use crate::store::local_time_zone;
use crate::ui::replay::Player;
use crate::ui::terminal::{COPY_TOO_LONG, Screen};
use crate::ui::{Effect, Msg, Theme, UiState, ViewCache, begin_replay, draw, next_tick, update};

/// Replays `session` until the user leaves. `session` is the id of the session or its beginning; `None` means the
/// newest session.
///
/// # Errors
/// Fails if the session does not exist or has no recorded events, or if there is no terminal.
pub fn main(global: &GlobalOptions, session: Option<&str>) -> Result<u8> {
    let root = root(global)?;
    let session = resume::choose(&root, session.unwrap_or_default())?;
    let events = resume::read_events(&root, &session)?;
    if events.is_empty() {
        bail!("session {session} has no recorded events: choose another session");
    }
    let player = Player::new(events, global.speed.unwrap_or(1.0));
    let settings = settings(global, &root)?.settings;
    block_on(play(&root, player, &settings))?;
    Ok(0)
}

async fn play(root: &Path, player: Player, settings: &Settings) -> Result<()> {
    let keymap = keys::keymap(settings)?;
    let mut signals = Signals::listen()?;
    let mut screen = Screen::enter()
        .context("the replay needs a terminal (the raw journals are in .crewdeck/sessions)")?;
    let (width, height) = screen.size()?;
    let mut state = UiState::new(width, height, local_time_zone());
    begin_replay(&mut state, player);
    state.set_keymap(keymap);
    let depth = theme::color_depth();
    theme::apply(settings, depth, &mut state);
    let mut loader = PictureLoader::start(root, settings, depth, &mut state);
    mouse::apply(settings, None, &mut screen, &mut state)?;
    let mut cache = ViewCache::default();
    let mut keys = EventStream::new();
    let mut limiter = FrameLimiter::default();
    let opened = Instant::now();
    let mut stale = Some(FrameCause::Key);
    update(&mut state, Msg::Tick { now: now() });
    screen.set_title("crewdeck replay")?;
    loop {
        let elapsed = opened.elapsed();
        if stale.is_some_and(|cause| limiter.due(cause, elapsed) <= elapsed) {
            let theme = Theme::of(&state.theme(), depth);
            screen.draw(|frame| draw(&state, &mut cache, &theme, frame))?;
            loader.request(cache.pictures());
            limiter.count_frame(elapsed);
            stale = None;
        }
        let frame = stale.map(|cause| opened + limiter.due(cause, opened.elapsed()));
        let tick = next_tick(&state).map(|wait| Instant::now() + wait);
        let wake = frame.into_iter().chain(tick).min();
        let mut cause = FrameCause::Event;
        let messages = tokio::select! {
            biased;
            _ = signals.any() => return Ok(()),
            input = keys.next() => {
                cause = FrameCause::Key;
                let Some(input) = input else { return Ok(()) };
                input.and_then(inputs::read_batch).context("the terminal cannot be read")?.into_iter().filter_map(message).collect()
            }
            loaded = loader.next() => loader.show(loaded, &mut screen, &mut state).map(|()| Vec::new())?,
            () = super::until(wake), if wake.is_some() => vec![Msg::Tick { now: now() }],
        };
        let resized = |m: &Msg| matches!(m, Msg::Resize(..));
        if messages.iter().any(resized) {
            screen.invalidate();
        }
        let effects = messages
            .into_iter()
            .flat_map(|message| update(&mut state, message));
        let effects: Vec<Effect> = effects.collect();
        let mut program = None;
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(()),
                Effect::Suspend => {
                    screen.suspend()?;
                    terminal_returned(&mut screen, &mut state, &mut loader)?;
                }
                Effect::Redraw => terminal_returned(&mut screen, &mut state, &mut loader)?,
                Effect::Print(text) => program = Some(ExternalProgram::Print(text)),
                Effect::OpenInEditor(text) => program = Some(ExternalProgram::View(text)),
                Effect::Copy(text) => {
                    let is_copied = screen.copy(&text)?;
                    if !is_copied {
                        state.warn(COPY_TOO_LONG);
                    }
                }
                Effect::CaptureMouse(is_on) => screen.set_mouse_capture(is_on)?,
                Effect::SaveTheme(chosen) => {
                    if let Some(message) = theme::save(&chosen, depth) {
                        state.warn(message);
                    }
                }
                Effect::Export { path, text } => {
                    export_conversation(root, &path, &text, &mut state);
                }
                // All other effects need a crew or change something, so a replay ignores them.
                _ => {}
            }
        }
        if let Some(program) = program {
            // Drop the key reader. Otherwise it would take keys from the external program.
            drop(keys);
            if !run_program(&mut screen, &mut state, program, &mut signals).await? {
                return Ok(());
            }
            terminal_returned(&mut screen, &mut state, &mut loader)?;
            keys = EventStream::new();
        }
        if state.take_dirty() {
            stale = stale.max(Some(cause));
        }
    }
}

/// Prepares the replay to draw again after another program has used the terminal: makes the next frame a complete
/// redraw, reads the size of the terminal, and forgets the pictures that the terminal no longer has.
fn terminal_returned(
    screen: &mut Screen,
    state: &mut UiState,
    loader: &mut PictureLoader,
) -> Result<()> {
    screen.invalidate();
    loader.forget_terminal(state);
    let (width, height) = screen.size()?;
    update(state, Msg::Resize(width, height));
    Ok(())
}

/// Writes the conversation to a file and shows the path of the file, or why it could not be written.
fn export_conversation(root: &Path, path: &str, text: &str, state: &mut UiState) {
    match export::write(root, path, text) {
        Ok(path) => state.say(export::success_message(&path)),
        Err(why) => state.warn(export::not_written(&why)),
    }
}

/// Runs an external program that uses the terminal, and waits until it ends. Returns false if a signal ends the replay.
/// The terminal is then not set up for the replay again.
async fn run_program(
    screen: &mut Screen,
    state: &mut UiState,
    program: ExternalProgram,
    signals: &mut Signals,
) -> Result<bool> {
    screen.restore_terminal()?;
    let stop = CancellationToken::new();
    let is_over_by_interrupt = program.ends_by_interrupt();
    let running = program.run(&stop);
    tokio::pin!(running);
    let done = loop {
        tokio::select! {
            done = &mut running => break done,
            signal = signals.any() => match signal {
                Signalled::End => stop.cancel(),
                Signalled::Interrupt if is_over_by_interrupt => break Ok(None),
                Signalled::Interrupt => {}
            },
        }
    };
    if stop.is_cancelled() {
        return Ok(false);
    }
    screen.set_up()?;
    if let Err(error) = done {
        state.warn(describe_error(&error));
    }
    Ok(true)
}

/// Converts a terminal input to a message. `None` for inputs without an effect.
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
