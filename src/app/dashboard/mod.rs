//! The dashboard's main loop: input, events and frames.

mod crew;
mod external_effects;
mod frame_schedule;
mod hub_view;
mod onboarding;
mod requests;
mod restart;
mod server_review;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use tokio::time::Instant;

use self::crew::{Building, CrewChange, CrewState, StartQueue};
use self::frame_schedule::FrameSchedule;
use self::onboarding::{FirstCommitTask, RestartState, StartupChecks};
use self::requests::ScreenRequests;
use self::restart::ExitReason;
pub use self::restart::main;
use super::assemble;
use super::blueprint::Blueprint;
use super::external_program::ExternalProgram;
use super::files::FileFinder;
use super::frame_limiter::FrameCause;
use super::pictures::PictureLoader;
use super::signals::Signals;
use super::{inputs, keys, model_setup, mouse, now, resume, saved_layout, secrets, theme, until};
use crate::cli::GlobalOptions;
use crate::config::extensions::ApprovalRequest;
use crate::domain::hook::SessionEndReason;
use crate::domain::ids::Name;
use crate::domain::notification::NotifyMethod;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::protocol::{Command, Event, EventReceiver, EventSender, SentCommand, bus};
use crate::store::local_time_zone;
use crate::ui::notifier::WindowFocus;
use crate::ui::terminal::Screen;
use crate::ui::{
    ColorDepth, Effect, Msg, SessionRole, Theme, UiState, ViewCache, draw, next_tick, update,
};

/// Maximum number of crew events that one pass of the main loop processes after the event that woke the loop.
const DRAIN_MAX: usize = 256;
/// Maximum number of commands that are queued while the crew starts. Further ones are rejected.
const EARLY_MAX: usize = 16;

struct Dashboard {
    screen: Screen,
    cache: ViewCache,
    depth: ColorDepth,
    state: UiState,
    event_sender: EventSender,
    events: EventReceiver,
    crew: CrewState,
    checks: StartupChecks,
    /// The settings, servers and hooks for which the setup page asks approval; `None` if it asks for none.
    asked: Option<ApprovalRequest>,
    /// The first commit that git is creating for the user; `None` if git is not creating one. Dropping it stops git.
    first_commit: Option<FirstCommitTask>,
    kept: RestartState,
    options: GlobalOptions,
    requests: ScreenRequests,
    root: PathBuf,
    title: String,
    notify_method: NotifyMethod,
    frames: FrameSchedule,
    signals: Signals,
    files: FileFinder,
    pictures: PictureLoader,
}

impl Dashboard {
    fn open(
        blueprint: &Blueprint,
        options: &GlobalOptions,
        mut kept: RestartState,
    ) -> Result<Dashboard> {
        let keymap = keys::keymap(&blueprint.settings)?;
        let (event_sender, events) = bus::bus(now);
        let event_sender = event_sender.with_redactor(secrets::redactor());
        let signals = match kept.signals.take() {
            Some(signals) => signals,
            None => Signals::listen()?,
        };
        // Read keys from the terminal even if standard input is redirected.
        let has_keys = std::io::stdin().is_terminal() || std::fs::File::open("/dev/tty").is_ok();
        if !has_keys || !std::io::stdout().is_terminal() {
            bail!("the dashboard needs a terminal: without one, use crewdeck run");
        }
        let mut screen = match kept.screen.take() {
            Some(screen) => screen,
            None => Screen::enter().context("the terminal cannot be set up")?,
        };
        // Remove images that an earlier session in this terminal may have left on the screen.
        screen.remove_images()?;
        let (width, height) = screen.size()?;
        let mut state = UiState::new(width, height, local_time_zone());
        if let Some(kinds) = &blueprint.settings.notify_about {
            state.set_notify_kinds(kinds);
        }
        // Set the clock first. Otherwise the messages below would expire at once.
        update(&mut state, Msg::Tick { now: now() });
        state.set_role(SessionRole::Starting);
        let early = blueprint
            .prompt()
            .map(|text| Command::prompt(Name::lead(), text));
        let early = early.map(|command| state.assign_id(command));
        state.set_keymap(keymap);
        let (choice, warning) = saved_layout::load(&blueprint.root);
        state.set_screen(choice);
        if let Some(warning) = warning {
            state.warn(warning);
        }
        state.set_draft(&kept.draft);
        if let Some((_, address)) = model_setup::key_address(blueprint) {
            let shown = address
                .split_once("://")
                .map_or(&*address, |(_, rest)| rest);
            state.set_key_address(shown.trim_end_matches('/'));
        }
        let depth = theme::color_depth();
        theme::apply(&blueprint.settings, depth, &mut state);
        let pictures =
            PictureLoader::start(&blueprint.root, &blueprint.settings, depth, &mut state);
        if let Some(theme) = kept.background.theme(&blueprint.settings) {
            state.set_theme(theme);
        }
        mouse::apply(&blueprint.settings, kept.mouse, &mut screen, &mut state)?;
        Ok(Dashboard {
            screen,
            cache: ViewCache::default(),
            depth,
            state,
            event_sender,
            events,
            crew: CrewState::Starting(StartQueue::with(early)),
            checks: StartupChecks::default(),
            asked: None,
            first_commit: None,
            kept,
            options: options.clone(),
            requests: ScreenRequests::default(),
            root: blueprint.root.clone(),
            title: String::new(),
            notify_method: blueprint.settings.notify.unwrap_or_default(),
            frames: FrameSchedule::new(),
            signals,
            files: FileFinder::new(&blueprint.root),
            pictures,
        })
    }

    async fn stay(mut self, blueprint: &Blueprint) -> Result<ExitReason> {
        self.draw()?;
        let background = &mut self.kept.background;
        if background.begin(&blueprint.settings, self.depth, now()) {
            self.screen.ask_background()?;
        }
        if let Some(session) = &blueprint.resume {
            // Read the events only after the first frame, because reading a long session takes time.
            resume::show(&blueprint.root, session, now(), &mut self.state)?;
            self.frames.request(FrameCause::Key);
        }
        let mut left = self.run(blueprint).await;
        // Stop git if it is still creating the first commit.
        drop(self.first_commit);
        match &mut left {
            Ok(ExitReason::Restart(kept) | ExitReason::StartSession(_, kept)) => {
                kept.screen = Some(self.screen);
            }
            // The user gets the shell back at once; the crew shuts down in the background.
            Ok(ExitReason::Quit(..) | ExitReason::StartDemo(_)) | Err(_) => drop(self.screen),
        }
        let ended = left.as_ref().map(ExitReason::of_session);
        let reason = ended.unwrap_or(SessionEndReason::Other);
        self.crew.stop(&mut self.events, reason).await?;
        match &mut left {
            Ok(
                ExitReason::Restart(kept)
                | ExitReason::StartSession(_, kept)
                | ExitReason::StartDemo(kept),
            ) => kept.signals = Some(self.signals),
            Ok(ExitReason::Quit(..)) | Err(_) => {}
        }
        left
    }

    async fn run(&mut self, blueprint: &Blueprint) -> Result<ExitReason> {
        self.ask_for_approval(blueprint);
        let mut keys = EventStream::new();
        let mut building: Building<'_> =
            Box::pin(assemble::build(blueprint, self.event_sender.clone()));
        loop {
            let wake = self.next_wake();
            let mut cause = FrameCause::Event;
            tokio::select! {
                biased;
                _ = self.signals.any() => return Ok(self.quit(SessionEndReason::Other)),
                input = keys.next() => {
                    let Some(input) = input else { return Ok(self.quit(SessionEndReason::Other)) };
                    let inputs = input.and_then(inputs::read_batch);
                    cause = FrameCause::Key;
                    let inputs = inputs.context("the terminal cannot be read")?;
                    let (inputs, theme) = self.kept.background.filter(inputs, now());
                    if self.kept.background.is_answered() {
                        self.screen.background_known();
                    }
                    if let Some(theme) = theme.filter(|_| self.state.has_default_theme()) {
                        self.state.set_theme(theme);
                    }
                    for input in inputs {
                        let action = self.handle_input(input)?;
                        self.files.find(self.state.file_query());
                        match action {
                            InputAction::Stay => {}
                            InputAction::Leave(left) => return Ok(left),
                            InputAction::RunProgram(program) => {
                                // Drop the key reader. Otherwise it would take keys from the external program.
                                drop(keys);
                                if let Some(left) = self.run_program(program).await? {
                                    return Ok(left);
                                }
                                keys = EventStream::new();
                            }
                        }
                    }
                }
                Some(event) = self.events.next() => {
                    self.record_event(event);
                    for _ in 0..DRAIN_MAX {
                        let Some(event) = self.events.try_next() else { break };
                        self.record_event(event);
                    }
                }
                built = &mut building, if matches!(self.crew, CrewState::Starting(_)) => {
                    self.crew_built(built, blueprint)?;
                }
                found = self.checks.next() => {
                    if let Some(left) = self.handle_check(found, blueprint) {
                        return Ok(left);
                    }
                }
                answer = self.requests.next() => self.show_answer(answer),
                found = self.files.next() => {
                    // The found files are the answer to a key press. With the cause `Event`, the frame would come up to
                    // 50 ms later.
                    cause = FrameCause::Key;
                    update(&mut self.state, Msg::Files(found));
                }
                loaded = self.pictures.next() => {
                    self.pictures.show(loaded, &mut self.screen, &mut self.state)?;
                }
                change = self.crew.next_change() => match change {
                    CrewChange::Local(news) => {
                        if let Some(freed) = self.apply_update(news)? {
                            building = self.take_over(freed, blueprint);
                        }
                    }
                    CrewChange::Hub(news) => self.apply_hub_update(news),
                    CrewChange::Lost(cause) => return Ok(self.join_again(cause.as_deref())),
                },
                () = until(wake), if wake.is_some() => {
                    for effect in update(&mut self.state, Msg::Tick { now: now() }) {
                        self.apply_effect(effect);
                    }
                }
            }
            if self.state.take_dirty() {
                self.frames.request(cause);
            }
            if self.frames.next().is_some_and(|due| due <= Instant::now()) {
                self.draw()?;
            }
        }
    }

    /// Returns when the main loop must wake up without input: at the next frame, or earlier if a spinner or countdown
    /// changes before it. `None` if there is nothing to draw and nothing that changes with time.
    fn next_wake(&self) -> Option<Instant> {
        let frame = self.frames.next();
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
            .context("the terminal cannot be written")?;
        self.pictures.request(self.cache.pictures());
        let title = self.state.title();
        if title != self.title {
            self.screen.set_title(&title)?;
            self.title = title;
        }
        self.frames.record_frame();
        Ok(())
    }

    fn record_event(&mut self, event: Event) {
        match &mut self.crew {
            CrewState::Running(assembly) => {
                if let Some(text) = assembly.journal.note(&event) {
                    self.warn(&text);
                }
            }
            CrewState::Starting(early) => early.keep(&event),
            CrewState::Remote(_) | CrewState::Viewing(_) | CrewState::Absent => {}
        }
        self.apply_event(event);
    }

    fn apply_event(&mut self, event: Event) {
        for effect in update(&mut self.state, Msg::Event(event)) {
            self.apply_effect(effect);
        }
    }

    /// Executes an effect of an event or a tick. Ignores effects that only user input can cause.
    fn apply_effect(&mut self, effect: Effect) {
        match effect {
            // Ignore errors: a failed bell or notification must not end the program.
            Effect::Notify(words) => drop(self.notify(&words)),
            Effect::Command(command) => self.submit(command),
            _ => {}
        }
    }

    fn handle_input(&mut self, input: Input) -> Result<InputAction> {
        let message = match input {
            Input::Key(key) if key.kind == KeyEventKind::Release => return Ok(InputAction::Stay),
            Input::Key(key) => Msg::Key(key, now()),
            Input::Paste(text) => Msg::Paste(text),
            Input::Mouse(mouse) => Msg::Mouse(mouse),
            Input::Resize(width, height) => {
                self.screen.invalidate();
                Msg::Resize(width, height)
            }
            Input::FocusGained => Msg::Window(WindowFocus::Focused),
            Input::FocusLost => Msg::Window(WindowFocus::Unfocused),
        };
        let effects = update(&mut self.state, message);
        self.save_sent();
        for effect in effects {
            match effect {
                Effect::Command(command) => self.submit(command),
                Effect::Quit => {
                    let left = self.quit(SessionEndReason::Quit);
                    return Ok(InputAction::Leave(left));
                }
                Effect::StartSession(session) => {
                    if let Some(left) = self.start_session(session) {
                        return Ok(InputAction::Leave(left));
                    }
                }
                Effect::LoadHistory => self.load_history(),
                Effect::ListSessions => self.list_sessions(),
                Effect::Diagnose => self.diagnose(),
                Effect::Export { path, text } => self.export(path, text),
                Effect::StartDemo => {
                    return Ok(InputAction::Leave(ExitReason::StartDemo(Box::new(
                        self.keep(),
                    ))));
                }
                Effect::Reload => {
                    let left = self.restart_with(Some("Checked again: nothing has changed."));
                    return Ok(InputAction::Leave(left));
                }
                Effect::CreateRepository => self.create_repository(),
                Effect::ApproveSettings | Effect::StartWithoutSettings => {
                    if let Some(left) = self.apply_decision(&effect) {
                        return Ok(InputAction::Leave(left));
                    }
                }
                Effect::ReviewServer(name) => self.review_server(name),
                Effect::ApproveServer(name) => self.approve_server(name),
                Effect::EditComposer => {
                    return Ok(InputAction::RunProgram(ExternalProgram::Edit(
                        self.state.composer_text(),
                    )));
                }
                Effect::Print(text) => {
                    return Ok(InputAction::RunProgram(ExternalProgram::Print(text)));
                }
                Effect::OpenInEditor(text) => {
                    return Ok(InputAction::RunProgram(ExternalProgram::View(text)));
                }
                Effect::Suspend => {
                    self.screen.suspend()?;
                    self.redraw_all()?;
                }
                Effect::Redraw => {
                    self.screen.invalidate();
                    self.redraw_all()?;
                }
                Effect::Copy(text) => self.copy(&text)?,
                Effect::CaptureMouse(is_on) => {
                    self.screen.set_mouse_capture(is_on)?;
                    self.kept.mouse = Some(is_on);
                }
                Effect::Notify(words) => self.notify(&words)?,
                Effect::SaveTheme(theme) => self.save_theme(&theme),
                Effect::SaveScreen(choice) => {
                    if let Some(warning) = saved_layout::save(&self.root, choice) {
                        self.warn(&warning);
                    }
                }
            }
        }
        Ok(InputAction::Stay)
    }

    /// Assigns an id to a command and sends it to the crew.
    fn submit(&mut self, command: Command) {
        self.state.dismiss_takeover();
        let sent = self.state.assign_id(command);
        self.send(sent);
    }

    /// Sends a command to the crew. If it cannot be queued, reports it as rejected.
    fn send(&mut self, sent: SentCommand) {
        let id = sent.id;
        let is_rejected = match &mut self.crew {
            CrewState::Running(assembly) => assembly.crew.submit(sent).is_err(),
            CrewState::Remote(viewing) => viewing.submit(sent).is_err(),
            CrewState::Viewing(viewing) => viewing.submit(sent).is_err(),
            CrewState::Starting(early) if early.commands.len() < EARLY_MAX => {
                early.commands.push(sent);
                false
            }
            CrewState::Starting(_) | CrewState::Absent => true,
        };
        if is_rejected {
            let why = "The crew could not accept the command: try again in a moment.";
            self.event_sender.offer(EventKind::rejection(id, why));
        }
    }

    fn warn(&self, text: &str) {
        self.publish(NoticeLevel::Warn, text);
    }

    fn publish(&self, level: NoticeLevel, text: &str) {
        self.event_sender.offer(EventKind::notice(level, text));
    }
}

/// What the main loop does after an input.
enum InputAction {
    Stay,
    RunProgram(ExternalProgram),
    Leave(ExitReason),
}
