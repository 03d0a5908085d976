//! `crewdeck replay`: the dashboard over a recorded session. Nothing of it can be changed.

use anyhow::{Context, Result, bail};
use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
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
    let settings = settings(global, &root)?.settings;
    blocked_on(play(player, &settings))?;
    Ok(0)
}

async fn play(player: Player, settings: &Settings) -> Result<()> {
    let keymap = keys::keymap(settings)?;
    let mut signals = Signals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
        hangup: signal(SignalKind::hangup())?,
    };
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
            _ = signals.terminate.recv() => return Ok(()),
            _ = signals.hangup.recv() => return Ok(()),
            _ = signals.interrupt.recv() => return Ok(()),
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
                | Do::MakeRepository
                | Do::ApproveSettings
                | Do::WithoutSettings => {}
            }
        }
        if let Some(errand) = errand {
            // Two readers of one terminal would share the keys.
            drop(keys);
            if away(&mut screen, &mut state, errand, &mut signals).await? == Away::Ended {
                return Ok(());
            }
            keys = EventStream::new();
        }
        if state.take_dirty() {
            stale = stale.max(Some(cause));
        }
    }
}

/// What the system may want.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// How an errand ended.
#[derive(PartialEq, Eq)]
enum Away {
    /// The screen is there again.
    Back,
    /// The replay has to end; the terminal is as it was before it.
    Ended,
}

/// Gives the terminal away for an errand.
async fn away(
    screen: &mut Screen,
    state: &mut UiState,
    errand: Errand,
    signals: &mut Signals,
) -> Result<Away> {
    screen.give()?;
    let stop = CancellationToken::new();
    let is_over_by_interrupt = errand.ends_by_interrupt();
    let running = errand.run(&stop);
    tokio::pin!(running);
    let done = loop {
        tokio::select! {
            done = &mut running => break done,
            _ = signals.terminate.recv() => stop.cancel(),
            _ = signals.hangup.recv() => stop.cancel(),
            _ = signals.interrupt.recv() => {
                if is_over_by_interrupt {
                    break Ok(None);
                }
            }
        }
    };
    if stop.is_cancelled() {
        return Ok(Away::Ended);
    }
    screen.take()?;
    let (width, height) = screen.size()?;
    update(state, Msg::Resize(width, height));
    if let Err(error) = done {
        state.say(Level::Warn, in_words(&error));
    }
    Ok(Away::Back)
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
