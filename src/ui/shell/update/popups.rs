//! Popups: opening, choosing and copying.

use crate::domain::ids::TaskId;
use crate::domain::job::Job;
use crate::domain::text::harmless;
use crate::protocol::Command;
use crate::protocol::event::Level;
use crate::ui::app::App;
use crate::ui::app::effect::Do;
use crate::ui::app::popup::{Choice, CommentStage, Popup, Question, Text, push};
use crate::ui::diff::Changes;
use crate::ui::frame::navigation;
use crate::ui::frame::pick::Does;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::{Models, sentence};
use crate::ui::panes::{board, needs, rows};
use crate::ui::popups::confirm::with_worktree;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::reader::letter_and_thread;
use crate::ui::popups::{costs, event_log, reader, themes};
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{areas, keep_selection};
use crate::ui::theme::Theme;
use crate::ui::widgets::line_input::Searching;

/// Opens the help, with the keys of the current context first.
pub fn help(app: &mut App) {
    let is_help = |p: &Popup| matches!(p, Popup::Reader(r) if matches!(r.text, Text::Help(_)));
    if !app.popups.iter().any(is_help) {
        let contexts = app.contexts();
        push(app, Popup::read(Text::Help(contexts)));
    }
}

/// Opens the action palette.
pub fn palette(app: &mut App) {
    let is_palette = |p: &Popup| matches!(p, Popup::Picker(picker) if matches!(picker.choice, Choice::Palette { .. }));
    if app.is_commenting() || app.popups.iter().any(is_palette) {
        return;
    }
    app.popups.clear();
    let mut contexts = app.contexts();
    // From the composer, the actions of the conversation pane are listed too.
    if app.focus == Focus::Composer {
        contexts.extend([Context::In(Pane::Lead), Context::Panes]);
    }
    let focus = app.focus;
    push(app, Popup::choose(Choice::Palette { contexts, focus }));
}

/// Opens the list of skills.
pub fn skills(app: &mut App) {
    push(app, Popup::read(Text::Skills));
}

/// Requests the list of models and opens the model picker.
pub fn models(app: &mut App, out: &mut Vec<Do>) {
    if app.model.models == Models::Unknown {
        app.model.models = Models::Asked;
    }
    let mut popup = Popup::choose(Choice::Models);
    if let Popup::Picker(picker) = &mut popup {
        picker.row = keep_selection::model_in_use(app);
    }
    push(app, popup);
    out.push(Do::Command(Command::ListModels));
}

/// Opens the list of session permissions.
pub fn rules(app: &mut App) {
    push(app, Popup::choose(Choice::Rules));
}

/// Opens the list of background jobs.
pub fn jobs(app: &mut App) {
    if !app.shows_jobs() {
        push(app, Popup::Jobs { row: 0 });
    }
}

/// Opens the diff of a task's branch.
pub fn diff(app: &mut App, task: TaskId, stat: &str, text: &str, untracked: &[String]) {
    let changes = Changes::new(stat, text, untracked);
    if changes.is_empty() {
        app.say(Level::Info, format!("The branch of {task} has no changes."));
        return;
    }
    app.diff = changes;
    let is_diff = |p: &Popup| matches!(p, Popup::Reader(r) if matches!(r.text, Text::Diff(_)));
    app.popups.retain(|p| !is_diff(p));
    push(app, Popup::read(Text::Diff(task)));
}

/// Requests the diff of the selected task's branch.
pub fn ask_diff(app: &mut App, out: &mut Vec<Do>) {
    if let Some(task) = with_worktree(app) {
        out.push(Do::Command(Command::ShowDiff { task }));
    }
}

fn selected_job(app: &App) -> Option<&Job> {
    let Some(Popup::Jobs { row }) = app.popups.last() else {
        return None;
    };
    let jobs = app.model.jobs.listed();
    jobs.get(*row).or(jobs.last()).copied()
}

/// Updates a background job and keeps the selection on the same job.
pub fn job_changed(app: &mut App, job: &Job) {
    let selected = selected_job(app).map(|j| j.id.clone());
    app.model.jobs.changed(job);
    let listed = app.model.jobs.listed();
    let at = selected.and_then(|id| listed.iter().position(|j| j.id == id));
    if let (Some(at), Some(Popup::Jobs { row })) = (at, app.popups.last_mut()) {
        *row = at;
    }
}

/// Kills the selected background job.
pub fn kill(app: &mut App, out: &mut Vec<Do>) {
    let Some(job) = selected_job(app).cloned() else {
        return;
    };
    if !job.is_running() {
        app.say(
            Level::Info,
            format!("The job has already ended: {}.", job.status()),
        );
        return;
    }
    app.say(Level::Info, format!("Ending {}.", job.title()));
    out.push(Do::Command(Command::KillJob { job: job.id }));
}

/// Opens the selected item.
pub fn open(state: &mut UiState) {
    if let Some(agent) = selected_job(state).map(|j| j.agent.clone()) {
        state.popups.clear();
        navigation::show(state, &agent);
        return;
    }
    // The preview shows the selected item, which is opened instead.
    let is_peek = |popup: &mut Popup| matches!(popup, Popup::Peek(_));
    state.popups.pop_if(is_peek);
    if let Some(Popup::EventLog(_)) = state.popups.last() {
        return event_log::update::show(state);
    }
    if let Some(Popup::Costs(_)) = state.popups.last() {
        return costs::update::show(state);
    }
    if !state.popups.is_empty() {
        // Other popups have nothing to open.
        return;
    }
    match state.focus.pane() {
        Pane::Lead => {
            let viewport = areas::viewport(state);
            let transcript = &mut state.shown_agent().transcript;
            transcript.toggle_selected();
            transcript.reveal_selected(viewport);
        }
        Pane::Todo => {
            if let Some(at) = rows::selected_todo(state) {
                push(state, Popup::read(Text::Todo(at)));
            }
        }
        Pane::Board => {
            if let Some((_, id)) = board::selected(state) {
                push(state, Popup::read(Text::Task(id)));
            }
        }
        Pane::Team => {
            if let Some((_, member)) = rows::selected_member(state) {
                navigation::show(state, &member);
            }
        }
        Pane::Inbox => {
            let letter = rows::selected_letter(state).map(|(_, letter)| letter.number);
            if let Some(number) = letter {
                letter_and_thread(state, number);
            }
        }
        Pane::Needs => {
            let asker = rows::selected_request(state).map(|(_, r)| r.target.clone());
            if let Some(agent) = asker {
                navigation::show(state, &agent);
            }
        }
    }
}

/// Starts a search in the open text or help, or a filter in the focused list.
pub fn filter(app: &mut App) {
    if let Some(Popup::Reader(reader)) = app.popups.last_mut() {
        crate::ui::popups::reader::update::begin(reader);
    } else if let Some(Popup::EventLog(view)) = app.popups.last_mut() {
        view.searching = Searching::Typing;
    } else if app.is_in_panes() {
        // The filter field is in the pane, so the preview closes.
        app.popups.pop();
        let pane = app.focus.pane();
        app.filters.begin(pane);
    }
}

/// Accepts the selection or the input. Returns the action chosen in the palette, to be run by the caller.
pub fn accept(app: &mut App, out: &mut Vec<Do>) -> Option<Action> {
    if app.popups.is_empty() && app.is_searching() {
        crate::ui::shell::update::find::keep(app);
        return None;
    }
    match app.popups.last_mut() {
        Some(Popup::Reader(_)) => return crate::ui::popups::reader::update::accept(app),
        Some(Popup::EventLog(view)) => view.searching = Searching::Rest,
        // An answer to a question needs no verdict.
        Some(Popup::Comment(comment)) if app.model.requests.is_question(&comment.request) => {
            return Some(Action::Approve);
        }
        Some(Popup::Comment(comment)) => comment.stage = CommentStage::Verdict,
        Some(Popup::Task(_)) => crate::ui::popups::task_form::update::take(app, out),
        Some(Popup::Confirm(Question::Quit)) => out.push(Do::Quit),
        Some(Popup::Confirm(Question::Force(member))) => {
            let member = member.clone();
            app.popups.pop();
            out.push(Do::Command(Command::Force { member }));
        }
        Some(Popup::Confirm(Question::Merge(task))) => {
            let task = *task;
            app.popups.pop();
            crate::ui::popups::confirm::merge::one(app, task, out);
        }
        Some(Popup::Confirm(Question::Release { task, from })) => {
            let (task, from) = (*task, from.clone());
            app.popups.pop();
            crate::ui::popups::confirm::task_actions::release_now(app, task, from, out);
        }
        Some(Popup::Confirm(Question::RemoveTree(judged))) => {
            let judged = judged.clone();
            app.popups.pop();
            crate::ui::popups::confirm::task_actions::removal(app, judged, out);
        }
        Some(Popup::Confirm(Question::LoseTree(judged))) => {
            let judged = judged.clone();
            app.popups.pop();
            crate::ui::popups::confirm::task_actions::remove_now(app, judged, out);
        }
        Some(Popup::Confirm(Question::ApproveSettings)) => {
            app.popups.pop();
            crate::ui::shell::update::first::approve_now(app, out);
        }
        Some(Popup::Confirm(Question::Complete(task))) => {
            let task = *task;
            app.popups.pop();
            crate::ui::popups::confirm::task_actions::complete_now(app, task, out);
        }
        Some(Popup::Jobs { .. } | Popup::Costs(_) | Popup::Peek(_)) => {}
        Some(Popup::Picker(_)) => return choose(app, out),
        None => {
            let pane = app.focus.pane();
            app.filters.keep(pane);
        }
    }
    None
}

fn choose(app: &mut App, out: &mut Vec<Do>) -> Option<Action> {
    let Some(Popup::Picker(picker)) = app.popups.last() else {
        return None;
    };
    let picks = picker_rows::picks(app, picker);
    let taken = picks.get(picker.row).map(|p| p.does.clone());
    let written = picker.search.text().trim().to_string();
    let choice = picker.choice.clone();
    match (choice, taken) {
        (Choice::Palette { focus, .. }, Some(Does::Action(action))) => {
            app.popups.pop();
            app.focus = focus;
            Some(action)
        }
        (Choice::Palette { .. }, Some(Does::In(pane, action))) => {
            app.popups.pop();
            crate::ui::frame::navigation::focus(app, pane);
            Some(action)
        }
        (Choice::Models, Some(Does::Model(name))) => {
            use_model(app, name, out);
            None
        }
        // A server may not list all its models, so a typed name is accepted.
        (Choice::Models, None) if !written.is_empty() => {
            use_model(app, written, out);
            None
        }
        (Choice::Scopes(id), Some(Does::Allow(scope))) => {
            app.popups.pop();
            needs::update::allow(app, &id, scope, out);
            None
        }
        (Choice::Rules, Some(Does::TakeBack(rule))) => {
            app.popups.pop();
            out.push(Do::Command(Command::TakeBack { rule }));
            None
        }
        (Choice::Copy, Some(Does::Copy(portion))) => {
            crate::ui::shell::update::find::copy(app, &portion, out);
            None
        }
        (Choice::Themes, Some(Does::Theme(name))) => {
            themes::update::keep(app, name, out);
            None
        }
        (
            Choice::Palette { .. }
            | Choice::Models
            | Choice::Scopes(_)
            | Choice::Rules
            | Choice::Copy
            | Choice::Themes,
            Some(_) | None,
        ) => None,
    }
}

fn use_model(app: &mut App, name: String, out: &mut Vec<Do>) {
    app.popups.pop();
    app.say(
        Level::Info,
        format!("{name} is used from the next model call on."),
    );
    out.push(Do::Command(Command::UseModel { name }));
}

/// Copies the selection or the open text.
pub fn copy(app: &mut App, out: &mut Vec<Do>) {
    let Some((what, text)) = selected_text(app) else {
        app.say(Level::Info, "Nothing to copy here yet.");
        return;
    };
    app.say(Level::Info, format!("Copied {what}."));
    out.push(Do::Copy(text));
}

fn selected_text(app: &App) -> Option<(String, String)> {
    if let Some(Popup::Reader(reader)) = app.popups.last() {
        if matches!(reader.text, Text::Diff(_)) {
            // The plain git output without line numbers, so that other programs can read it.
            let text = harmless(app.diff.text());
            return (!text.is_empty()).then(|| ("the diff".into(), text));
        }
        let width = reader::area(app.size).width;
        let lines = reader::lines(app, reader, width, &Theme::default());
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        return Some(("the text".into(), lines.join("\n")));
    }
    if let Some(Popup::Costs(_)) = app.popups.last() {
        return Some(("the figures".into(), crate::ui::popups::costs::text(app)));
    }
    if let Some(Popup::EventLog(_)) = app.popups.last() {
        return event_log::update::text(app).map(|text| ("the line".into(), text));
    }
    if let Some(job) = selected_job(app) {
        let what = format!("the last output of {}", job.title());
        return (!job.tail.is_empty()).then(|| (what, harmless(&job.tail)));
    }
    match app.focus.pane() {
        Pane::Lead => {
            let agent = app.model.agents.get(&app.shown)?;
            if let Some((what, text)) = agent.transcript.selected_text() {
                return Some((what.into(), text));
            }
            let said = &agent.last_said;
            let what = format!("the last answer of {}", app.shown);
            (!said.is_empty()).then(|| (what, harmless(said)))
        }
        Pane::Todo => {
            let list = &app.model.agents.get(&app.shown)?.todo;
            let text = harmless(&list.render());
            (!list.items().is_empty()).then(|| ("the todo list".into(), text))
        }
        Pane::Board => {
            let (_, id) = board::selected(app)?;
            let task = app.model.board.get(id)?;
            let text = format!("{id} {}\n\n{}", task.subject, task.description);
            Some((format!("task {id}"), harmless(text.trim_end())))
        }
        Pane::Team => {
            let (_, name) = rows::selected_member(app)?;
            Some((format!("the name {name}"), name.to_string()))
        }
        Pane::Inbox => {
            let (_, traced) = rows::selected_letter(app)?;
            Some(("the message".into(), harmless(&traced.letter.content)))
        }
        Pane::Needs => {
            let (_, request) = rows::selected_request(app)?;
            let text = format!("{}\n\n{}", sentence::request(request), request.body);
            Some(("the request".into(), harmless(&text)))
        }
    }
}
