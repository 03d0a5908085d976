//! What lies over the panes: opening it, choosing in it, copying from it.

use crate::domain::ids::TaskId;
use crate::domain::job::Job;
use crate::domain::text::harmless;
use crate::protocol::Command;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::app::effect::Do;
use crate::ui::app::popup::push;
use crate::ui::app::popup::{Choice, CommentStage, Popup, Question, Text};
use crate::ui::diff::Changes;
use crate::ui::frame::navigation;
use crate::ui::frame::pick::Does;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::Models;
use crate::ui::model::sentence;
use crate::ui::panes::{board, needs, rows};
use crate::ui::popups::confirm::with_worktree;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::reader::letter_and_thread;
use crate::ui::popups::{costs, event_log, reader, themes};
use crate::ui::shell::update::{keep_selection, movement};
use crate::ui::theme::Theme;
use crate::ui::widgets::line_input::Searching;

/// Shows the keys, those that count here first.
pub fn help(state: &mut UiState) {
    let is_help = |p: &Popup| matches!(p, Popup::Reader(r) if matches!(r.text, Text::Help(_)));
    if !state.popups.iter().any(is_help) {
        let contexts = state.contexts();
        push(state, Popup::read(Text::Help(contexts)));
    }
}

/// Shows all actions.
pub fn palette(state: &mut UiState) {
    let is_palette = |p: &Popup| matches!(p, Popup::Picker(picker) if matches!(picker.choice, Choice::Palette { .. }));
    if state.is_commenting() || state.popups.iter().any(is_palette) {
        return;
    }
    state.popups.clear();
    let mut contexts = state.contexts();
    // From the composer everything that the conversation's pane can do is offered too.
    if state.focus == Focus::Composer {
        contexts.extend([Context::In(Pane::Lead), Context::Panes]);
    }
    let focus = state.focus;
    push(state, Popup::choose(Choice::Palette { contexts, focus }));
}

/// Shows what agents can load.
pub fn skills(state: &mut UiState) {
    push(state, Popup::read(Text::Skills));
}

/// Asks for the models and shows them.
pub fn models(state: &mut UiState, out: &mut Vec<Do>) {
    if state.model.models == Models::Unknown {
        state.model.models = Models::Asked;
    }
    let mut popup = Popup::choose(Choice::Models);
    if let Popup::Picker(picker) = &mut popup {
        picker.row = keep_selection::model_in_use(state);
    }
    push(state, popup);
    out.push(Do::Command(Command::ListModels));
}

/// Shows the rules of the session.
pub fn rules(state: &mut UiState) {
    push(state, Popup::choose(Choice::Rules));
}

/// Shows the background jobs.
pub fn jobs(state: &mut UiState) {
    if !state.shows_jobs() {
        push(state, Popup::Jobs { row: 0 });
    }
}

/// Shows what the branch of a task changes.
pub fn diff(state: &mut UiState, task: TaskId, stat: &str, text: &str, untracked: &[String]) {
    let changes = Changes::new(stat, text, untracked);
    if changes.is_empty() {
        state.say(
            Level::Info,
            format!("The branch of {task} changes nothing."),
        );
        return;
    }
    state.diff = changes;
    let is_diff = |p: &Popup| matches!(p, Popup::Reader(r) if matches!(r.text, Text::Diff(_)));
    state.popups.retain(|p| !is_diff(p));
    push(state, Popup::read(Text::Diff(task)));
}

/// Asks for what the branch of the selected task changes.
pub fn ask_diff(state: &mut UiState, out: &mut Vec<Do>) {
    if let Some(task) = with_worktree(state) {
        out.push(Do::Command(Command::ShowDiff { task }));
    }
}

/// The selected background job.
fn selected_job(state: &UiState) -> Option<&Job> {
    let Some(Popup::Jobs { row }) = state.popups.last() else {
        return None;
    };
    let jobs = state.model.jobs.listed();
    jobs.get(*row).or(jobs.last()).copied()
}

/// A background job began or ended; the list moves, and the selection with its job.
pub fn job_changed(state: &mut UiState, job: &Job) {
    let selected = selected_job(state).map(|j| j.id.clone());
    state.model.jobs.changed(job);
    let listed = state.model.jobs.listed();
    let at = selected.and_then(|id| listed.iter().position(|j| j.id == id));
    if let (Some(at), Some(Popup::Jobs { row })) = (at, state.popups.last_mut()) {
        *row = at;
    }
}

/// Ends the selected background job.
pub fn kill(state: &mut UiState, out: &mut Vec<Do>) {
    let Some(job) = selected_job(state).cloned() else {
        return;
    };
    if !job.is_running() {
        state.say(
            Level::Info,
            format!("It has ended already: {}.", job.status()),
        );
        return;
    }
    state.say(Level::Info, format!("Ending {}.", job.title()));
    out.push(Do::Command(Command::KillJob { job: job.id }));
}

/// Shows more of what is selected.
pub fn open(state: &mut UiState) {
    if let Some(agent) = selected_job(state).map(|j| j.agent.clone()) {
        state.popups.clear();
        navigation::show(state, &agent);
        return;
    }
    // What is peeked at is what is selected.
    let is_peek = |popup: &mut Popup| matches!(popup, Popup::Peek(_));
    state.popups.pop_if(is_peek);
    if let Some(Popup::EventLog(_)) = state.popups.last() {
        return event_log::update::show(state);
    }
    if let Some(Popup::Costs(_)) = state.popups.last() {
        return costs::update::show(state);
    }
    if !state.popups.is_empty() {
        // A list with nothing in it.
        return;
    }
    match state.focus.pane() {
        Pane::Lead => {
            let viewport = movement::viewport(state);
            let transcript = &mut state.model.agents.entry(&state.shown).transcript;
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

/// Begins to search a text or the help, or to filter the list that has the keys.
pub fn filter(state: &mut UiState) {
    if let Some(Popup::Reader(reader)) = state.popups.last_mut() {
        crate::ui::popups::reader::update::begin(reader);
    } else if let Some(Popup::EventLog(view)) = state.popups.last_mut() {
        view.searching = Searching::Typing;
    } else if state.is_in_panes() {
        // The words are written in the pane: what is peeked at makes room.
        state.popups.pop();
        let pane = state.focus.pane();
        state.filters.begin(pane);
    }
}

/// Takes what is selected or written; an action of the palette comes back to be carried out.
pub fn accept(state: &mut UiState, out: &mut Vec<Do>) -> Option<Action> {
    if state.popups.is_empty() && state.is_searching() {
        crate::ui::shell::update::find::keep(state);
        return None;
    }
    match state.popups.last_mut() {
        Some(Popup::Reader(_)) => return crate::ui::popups::reader::update::accept(state),
        Some(Popup::EventLog(view)) => view.searching = Searching::Rest,
        // The answer to a question needs no yes or no.
        Some(Popup::Comment(comment)) if state.model.requests.is_question(&comment.request) => {
            return Some(Action::Approve);
        }
        Some(Popup::Comment(comment)) => comment.stage = CommentStage::Verdict,
        Some(Popup::Task(_)) => crate::ui::popups::task_form::update::take(state, out),
        Some(Popup::Confirm(Question::Quit)) => out.push(Do::Quit),
        Some(Popup::Confirm(Question::Force(member))) => {
            let member = member.clone();
            state.popups.pop();
            out.push(Do::Command(Command::Force { member }));
        }
        Some(Popup::Confirm(Question::Merge(task))) => {
            let task = *task;
            state.popups.pop();
            crate::ui::popups::confirm::merge::one(state, task, out);
        }
        Some(Popup::Confirm(Question::Release { task, from })) => {
            let (task, from) = (*task, from.clone());
            state.popups.pop();
            crate::ui::popups::confirm::task_actions::release_now(state, task, from, out);
        }
        Some(Popup::Confirm(Question::RemoveTree(judged))) => {
            let judged = judged.clone();
            state.popups.pop();
            crate::ui::popups::confirm::task_actions::removal(state, judged, out);
        }
        Some(Popup::Confirm(Question::LoseTree(judged))) => {
            let judged = judged.clone();
            state.popups.pop();
            crate::ui::popups::confirm::task_actions::remove_now(state, judged, out);
        }
        Some(Popup::Confirm(Question::ApproveSettings)) => {
            state.popups.pop();
            crate::ui::shell::update::first::approve_now(state, out);
        }
        Some(Popup::Confirm(Question::Complete(task))) => {
            let task = *task;
            state.popups.pop();
            crate::ui::popups::confirm::task_actions::complete_now(state, task, out);
        }
        Some(Popup::Jobs { .. } | Popup::Costs(_) | Popup::Peek(_)) => {}
        Some(Popup::Picker(_)) => return choose(state, out),
        None => {
            let pane = state.focus.pane();
            state.filters.keep(pane);
        }
    }
    None
}

fn choose(state: &mut UiState, out: &mut Vec<Do>) -> Option<Action> {
    let Some(Popup::Picker(picker)) = state.popups.last() else {
        return None;
    };
    let picks = picker_rows::picks(state, picker);
    let taken = picks.get(picker.row).map(|p| p.does.clone());
    let written = picker.search.text().trim().to_string();
    let choice = picker.choice.clone();
    match (choice, taken) {
        (Choice::Palette { focus, .. }, Some(Does::Action(action))) => {
            state.popups.pop();
            state.focus = focus;
            Some(action)
        }
        (Choice::Palette { .. }, Some(Does::In(pane, action))) => {
            state.popups.pop();
            crate::ui::frame::navigation::focus(state, pane);
            Some(action)
        }
        (Choice::Models, Some(Does::Model(name))) => {
            use_model(state, name, out);
            None
        }
        // A server need not list all that it has: a name may be written out.
        (Choice::Models, None) if !written.is_empty() => {
            use_model(state, written, out);
            None
        }
        (Choice::Scopes(id), Some(Does::Allow(scope))) => {
            state.popups.pop();
            needs::update::allow(state, &id, scope, out);
            None
        }
        (Choice::Rules, Some(Does::TakeBack(rule))) => {
            state.popups.pop();
            out.push(Do::Command(Command::TakeBack { rule }));
            None
        }
        (Choice::Copy, Some(Does::Copy(portion))) => {
            crate::ui::shell::update::find::copy(state, &portion, out);
            None
        }
        (Choice::Themes, Some(Does::Theme(name))) => {
            themes::update::keep(state, name, out);
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

fn use_model(state: &mut UiState, name: String, out: &mut Vec<Do>) {
    state.popups.pop();
    state.say(Level::Info, format!("From the next call on: {name}."));
    out.push(Do::Command(Command::UseModel { name }));
}

/// Copies what is selected or read.
pub fn copy(state: &mut UiState, out: &mut Vec<Do>) {
    let Some((what, text)) = selected_text(state) else {
        state.say(Level::Info, "There is nothing to copy here yet.");
        return;
    };
    state.say(Level::Info, format!("Copied {what}."));
    out.push(Do::Copy(text));
}

fn selected_text(state: &UiState) -> Option<(String, String)> {
    if let Some(Popup::Reader(reader)) = state.popups.last() {
        if matches!(reader.text, Text::Diff(_)) {
            // As git wrote it: without the numbers other programs can read it.
            let text = harmless(state.diff.text());
            return (!text.is_empty()).then(|| ("the diff".into(), text));
        }
        let width = reader::area(state.size).width;
        let lines = reader::lines(state, reader, width, &Theme::default());
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        return Some(("the text".into(), lines.join("\n")));
    }
    if let Some(Popup::Costs(_)) = state.popups.last() {
        return Some(("the figures".into(), crate::ui::popups::costs::text(state)));
    }
    if let Some(Popup::EventLog(_)) = state.popups.last() {
        return event_log::update::text(state).map(|text| ("the line".into(), text));
    }
    if let Some(job) = selected_job(state) {
        let what = format!("the last output of {}", job.title());
        return (!job.tail.is_empty()).then(|| (what, harmless(&job.tail)));
    }
    match state.focus.pane() {
        Pane::Lead => {
            let agent = state.model.agents.get(&state.shown)?;
            if let Some((what, text)) = agent.transcript.selected_text() {
                return Some((what.into(), text));
            }
            let said = &agent.last_said;
            let what = format!("the last answer of {}", state.shown);
            (!said.is_empty()).then(|| (what, harmless(said)))
        }
        Pane::Todo => {
            let list = &state.model.agents.get(&state.shown)?.todo;
            let text = harmless(&list.render());
            (!list.items().is_empty()).then(|| ("the todo list".into(), text))
        }
        Pane::Board => {
            let (_, id) = board::selected(state)?;
            let task = state.model.board.get(id)?;
            let text = format!("{id} {}\n\n{}", task.subject, task.description);
            Some((format!("task {id}"), harmless(text.trim_end())))
        }
        Pane::Team => {
            let (_, name) = rows::selected_member(state)?;
            Some((format!("the name {name}"), name.to_string()))
        }
        Pane::Inbox => {
            let (_, traced) = rows::selected_letter(state)?;
            Some(("the message".into(), harmless(&traced.letter.content)))
        }
        Pane::Needs => {
            let (_, request) = rows::selected_request(state)?;
            let text = format!("{}\n\n{}", sentence::request(request), request.body);
            Some(("the request".into(), harmless(&text)))
        }
    }
}
