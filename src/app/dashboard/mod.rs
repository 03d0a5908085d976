//! The dashboard: one loop that joins keys, events and frames.

mod crew;
mod first;
mod outward;
mod starts;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use tokio::time::Instant;

use self::crew::{Building, Crew, Early};
use self::first::{Findings, Kept, Making};
pub use self::starts::main;
use super::assemble::{self, Assembly, Blueprint};
use super::errand::Errand;
use super::pace::{Cause, Pace};
use super::signals::Signals;
use super::{
    inputs, keys, mouse, now, resume, screen as remembered, secrets, theme, until, wire, zone,
};
use crate::config::Sensitive;
use crate::domain::attention::Calling;
use crate::domain::ids::Name;
use crate::protocol::event::{EventKind, Level};
use crate::protocol::{Command, Event, Inlet, Publisher, bus};
use crate::ui::attention::Window;
use crate::ui::terminal::Screen;
use crate::ui::{
    ColorDepth, Do, Motion, Msg, Seat, Theme, UiState, ViewCache, draw, next_tick, update,
};

/// Events that are taken before the screen is looked at again.
const DRAIN_MAX: usize = 256;
/// Commands that may wait for the crew to be there.
const EARLY_MAX: usize = 16;

/// How the person left.
enum Left {
    Quit,
    /// From the first page, to the demo.
    ForDemo(Box<Kept>),
    /// From the first page, to look at everything again.
    Again(Box<Kept>),
}

struct Dashboard {
    screen: Screen,
    cache: ViewCache,
    depth: ColorDepth,
    state: UiState,
    publisher: Publisher,
    inlet: Inlet,
    crew: Crew,
    /// What the first page may have to say.
    findings: Findings,
    /// Settings of the project that wait for approval.
    asked: Option<Sensitive>,
    /// Git makes the first commit.
    making: Option<Making>,
    kept: Kept,
    root: PathBuf,
    title: String,
    calling: Calling,
    /// What changed the state since it was drawn.
    stale: Option<Cause>,
    pace: Pace,
    opened: Instant,
    signals: Signals,
}

impl Dashboard {
    fn open(blueprint: &Blueprint, mut kept: Kept) -> Result<Dashboard> {
        let keymap = keys::keymap(&blueprint.settings)?;
        let (publisher, inlet) = bus::bus(now);
        let publisher = publisher.redacting(secrets::redactor());
        let signals = match kept.signals.take() {
            Some(signals) => signals,
            None => Signals::listen()?,
        };
        // Keys are read from the terminal also where something else is standard input.
        let has_keys = std::io::stdin().is_terminal() || std::fs::File::open("/dev/tty").is_ok();
        if !has_keys || !std::io::stdout().is_terminal() {
            bail!(
                "the dashboard needs a terminal, and here is none: crewdeck run works without one"
            );
        }
        let mut screen = match kept.screen.take() {
            Some(screen) => screen,
            None => Screen::enter().context("the terminal can not be taken over")?,
        };
        let (width, height) = screen.size()?;
        let early = blueprint.prompt().map(|text| Command::Prompt {
            to: Name::lead(),
            text,
        });
        let mut state = UiState::new(width, height, zone::local(), Motion::Full);
        if let Some(matters) = &blueprint.settings.notify_about {
            state.call_for(matters);
        }
        // What is said from here on stands for its time, and not as if it had been said long ago.
        update(&mut state, Msg::Tick { now: now() });
        state.sit(Seat::Starting);
        state.set_keymap(keymap);
        let (choice, unread) = remembered::recall(&blueprint.root);
        state.set_screen(choice);
        if let Some(words) = unread {
            state.say(Level::Warn, words);
        }
        state.set_draft(&kept.draft);
        if let Some((_, address)) = wire::key_address(blueprint) {
            let shown = address
                .split_once("://")
                .map_or(&*address, |(_, rest)| rest);
            state.set_key_address(shown.trim_end_matches('/'));
        }
        let depth = theme::color_depth();
        theme::take(&blueprint.settings, depth, &mut state);
        mouse::take(&blueprint.settings, kept.mouse, &mut screen, &mut state)?;
        Ok(Dashboard {
            screen,
            cache: ViewCache::default(),
            depth,
            state,
            publisher,
            inlet,
            crew: Crew::Coming(Early::wanted(early)),
            findings: Findings::default(),
            asked: None,
            making: None,
            kept,
            root: blueprint.root.clone(),
            title: String::new(),
            calling: blueprint.settings.notify.unwrap_or_default(),
            stale: Some(Cause::Key),
            pace: Pace::default(),
            opened: Instant::now(),
            signals,
        })
    }

    async fn stay(mut self, blueprint: &Blueprint) -> Result<Left> {
        self.draw()?;
        if let Some(session) = &blueprint.resume {
            // Behind the first frame: a long one takes a while to read.
            resume::show(&blueprint.root, session, now(), &mut self.state)?;
            self.stale = Some(Cause::Key);
        }
        let mut left = self.run(blueprint).await;
        // What git has not done by now it is to leave.
        drop(self.making);
        match &mut left {
            Ok(Left::Again(kept)) => kept.screen = Some(self.screen),
            // The person sees the shell at once; the crew ends behind it.
            Ok(Left::Quit | Left::ForDemo(_)) | Err(_) => drop(self.screen),
        }
        if let Crew::There(assembly) = self.crew {
            let Assembly {
                crew,
                mut journal,
                lock,
                probe: _,
            } = *assembly;
            let stopped = crew.stop().await;
            while let Some(event) = self.inlet.try_next() {
                journal.note(&event);
            }
            // Whoever takes the crew over finds the journal whole.
            drop(journal);
            drop(lock);
            stopped?;
        }
        match &mut left {
            Ok(Left::Again(kept) | Left::ForDemo(kept)) => kept.signals = Some(self.signals),
            Ok(Left::Quit) | Err(_) => {}
        }
        left
    }

    async fn run(&mut self, blueprint: &Blueprint) -> Result<Left> {
        self.ask_for_approval(blueprint);
        let mut keys = EventStream::new();
        let mut building: Building<'_> =
            Box::pin(assemble::build(blueprint, self.publisher.clone()));
        loop {
            let wake = self.next_wake();
            let mut cause = Cause::Event;
            tokio::select! {
                biased;
                _ = self.signals.any() => return Ok(Left::Quit),
                came = keys.next() => {
                    let Some(came) = came else { return Ok(Left::Quit) };
                    let inputs = came.and_then(inputs::with);
                    cause = Cause::Key;
                    for input in inputs.context("the terminal can not be read")? {
                        match self.take(input)? {
                            Next::Stay => {}
                            Next::Leave(left) => return Ok(left),
                            Next::Away(errand) => {
                                // Two readers of one terminal would share the keys.
                                drop(keys);
                                if let Some(left) = self.away(errand).await? {
                                    return Ok(left);
                                }
                                keys = EventStream::new();
                            }
                        }
                    }
                }
                Some(event) = self.inlet.next() => {
                    self.hear(event);
                    for _ in 0..DRAIN_MAX {
                        let Some(event) = self.inlet.try_next() else { break };
                        self.hear(event);
                    }
                }
                built = &mut building, if matches!(self.crew, Crew::Coming(_)) => {
                    self.built(built, blueprint)?;
                }
                found = self.findings.next() => {
                    if let Some(left) = self.found(found, blueprint) {
                        return Ok(left);
                    }
                }
                news = self.crew.news() => {
                    if let Some(freed) = self.look(news)? {
                        building = self.take_over(freed, blueprint);
                    }
                }
                () = until(wake), if wake.is_some() => {
                    for wish in update(&mut self.state, Msg::Tick { now: now() }) {
                        self.meanwhile(wish);
                    }
                }
            }
            if self.state.take_dirty() {
                self.stale = self.stale.max(Some(cause));
            }
            let now = self.opened.elapsed();
            if self
                .stale
                .is_some_and(|cause| self.pace.due(cause, now) <= now)
            {
                self.draw()?;
            }
        }
    }

    /// When to wake without any input: for the next frame, or for a spinner or a countdown.
    fn next_wake(&self) -> Option<Instant> {
        let now = self.opened.elapsed();
        let frame = self
            .stale
            .map(|cause| self.opened + self.pace.due(cause, now));
        let tick = next_tick(&self.state).map(|wait| Instant::now() + wait);
        match (frame, tick) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn draw(&mut self) -> Result<()> {
        let theme = Theme::of(&self.state.theme(), self.depth);
        let (state, cache) = (&self.state, &mut self.cache);
        self.screen
            .draw(|frame| draw(state, cache, &theme, frame))
            .context("the terminal can not be written")?;
        let title = self.state.title();
        if title != self.title {
            self.screen.set_title(&title)?;
            self.title = title;
        }
        self.stale = None;
        self.pace.drawn(self.opened.elapsed());
        Ok(())
    }

    fn hear(&mut self, event: Event) {
        match &mut self.crew {
            Crew::There(assembly) => {
                if let Some(text) = assembly.journal.note(&event) {
                    self.tell(&text);
                }
            }
            Crew::Coming(early) => early.keep(&event),
            Crew::Elsewhere(_) | Crew::Missing => {}
        }
        self.show(event);
    }

    fn show(&mut self, event: Event) {
        for wish in update(&mut self.state, Msg::Event(event)) {
            self.meanwhile(wish);
        }
    }

    /// Does what follows from an event or from time that has passed.
    fn meanwhile(&mut self, wish: Do) {
        match wish {
            // A bell that can not be rung is not worth the end of the program.
            Do::Call(words) => drop(self.call(&words)),
            Do::Command(command) => self.submit(command),
            Do::Quit
            | Do::Suspend
            | Do::EditComposer
            | Do::Print(_)
            | Do::ReadOutside(_)
            | Do::StartDemo
            | Do::LookAgain
            | Do::MakeRepository
            | Do::ApproveSettings
            | Do::WithoutSettings
            | Do::Copy(_)
            | Do::Mouse(_)
            | Do::SaveTheme(_)
            | Do::SaveScreen(_) => {}
        }
    }

    fn take(&mut self, input: Input) -> Result<Next> {
        let message = match input {
            Input::Key(key) if key.kind == KeyEventKind::Release => return Ok(Next::Stay),
            Input::Key(key) => Msg::Key(key, now()),
            Input::Paste(text) => Msg::Paste(text),
            Input::Mouse(mouse) => Msg::Mouse(mouse),
            Input::Resize(width, height) => {
                self.screen.spoil();
                Msg::Resize(width, height)
            }
            Input::FocusGained => Msg::Window(Window::Focused),
            Input::FocusLost => Msg::Window(Window::Elsewhere),
        };
        for wish in update(&mut self.state, message) {
            match wish {
                Do::Command(command) => self.submit(command),
                Do::Quit => return Ok(Next::Leave(Left::Quit)),
                Do::StartDemo => {
                    return Ok(Next::Leave(Left::ForDemo(Box::new(self.keep()))));
                }
                Do::LookAgain => {
                    let left = self.again(Some("Looked again: it is as it was."));
                    return Ok(Next::Leave(left));
                }
                Do::MakeRepository => self.make_repository(),
                Do::ApproveSettings | Do::WithoutSettings => {
                    if let Some(left) = self.decided(&wish) {
                        return Ok(Next::Leave(left));
                    }
                }
                Do::EditComposer => {
                    return Ok(Next::Away(Errand::Write(self.state.composer_text())));
                }
                Do::Print(text) => return Ok(Next::Away(Errand::Print(text))),
                Do::ReadOutside(text) => return Ok(Next::Away(Errand::Read(text))),
                Do::Suspend => {
                    self.screen.suspend()?;
                    self.redraw_all()?;
                }
                Do::Copy(text) => self.copy(&text)?,
                Do::Mouse(owner) => {
                    self.screen.set_mouse(owner)?;
                    self.kept.mouse = Some(owner);
                }
                Do::Call(words) => self.call(&words)?,
                Do::SaveTheme(theme) => self.save_theme(&theme),
                Do::SaveScreen(choice) => {
                    if let Some(said) = remembered::keep(&self.root, choice) {
                        self.tell(&said);
                    }
                }
            }
        }
        Ok(Next::Stay)
    }

    /// Another program had the screen, and the terminal may have another size now.
    fn redraw_all(&mut self) -> Result<()> {
        let (width, height) = self.screen.size()?;
        update(&mut self.state, Msg::Resize(width, height));
        self.stale = Some(Cause::Key);
        Ok(())
    }

    fn submit(&mut self, command: Command) {
        self.state.settle();
        let asked = command.asked();
        let is_refused = match &mut self.crew {
            Crew::There(assembly) => assembly.crew.submit(command).is_err(),
            Crew::Elsewhere(viewing) => viewing.submit(command).is_err(),
            Crew::Coming(early) if early.commands.len() < EARLY_MAX => {
                early.commands.push(command);
                false
            }
            Crew::Coming(_) | Crew::Missing => true,
        };
        if is_refused {
            let why = "The crew did not take that: try again in a moment.";
            self.publisher.offer(EventKind::refused(asked, why));
        }
    }

    fn tell(&self, text: &str) {
        self.publish(Level::Warn, text);
    }

    fn publish(&self, level: Level, text: &str) {
        self.publisher.offer(EventKind::notice(level, text));
    }
}

/// What a key leads to.
enum Next {
    Stay,
    /// The terminal is somebody else's for a while.
    Away(Errand),
    Leave(Left),
}
