//! A rejected command restores what it concerned: a text, a decision, the list of models, an interrupt.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::domain::request::{Decision, Request, Verdict};
use crate::domain::team::Activity;
use crate::protocol::{AgentEvent, Command, CommandId, CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{
    apply_events, busy, name, permission, picture, plan, press, ready, started_screen,
};
use crate::ui::model::ModelList;
use crate::ui::{Effect, UiState};

fn rejection_event(command: u64) -> EventKind {
    EventKind::rejection(CommandId(command), "no")
}

#[test]
fn only_rejected_text_returns() {
    let mut state = busy(160, 45);
    press(
        &mut state,
        "\"first\" enter \"@bob second\" enter \"third\" enter",
    );
    let waiting = |state: &crate::ui::UiState| -> Vec<String> {
        state.model.queued.iter().map(|q| q.text.clone()).collect()
    };
    assert_eq!(waiting(&state), ["first", "second", "third"]);
    // Rejections of commands that this screen did not send change nothing.
    apply_events(&mut state, vec![rejection_event(4), rejection_event(5)]);
    assert_eq!(waiting(&state), ["first", "second", "third"]);
    apply_events(&mut state, vec![rejection_event(2)]);
    assert_eq!(waiting(&state), ["first", "third"]);
    assert_eq!(state.input.composer.text(), "");
    assert_eq!(state.draft_to(&name("bob")), "second");
    // If there is a draft, the draft stays, and the rejected text goes to the history of the composer.
    press(&mut state, "\"fourth\"");
    apply_events(&mut state, vec![rejection_event(1)]);
    assert_eq!(waiting(&state), ["third"]);
    assert_eq!(state.input.composer.text(), "fourth");
    press(&mut state, "up");
    assert_eq!(state.input.composer.text(), "first");
    // A text that was delivered is not restored when a later text is rejected.
    let mut state = busy(160, 45);
    press(&mut state, "\"@bob one\" enter \"@bob two\" enter");
    let (agent, text) = (name("bob"), "one".to_string());
    let message = crate::ui::fixture::mail_message(
        "m9",
        crate::domain::mail::MailKind::Message,
        "user",
        "bob",
        "one",
    );
    let step = crate::protocol::event::DeliveryState::Sent;
    apply_events(
        &mut state,
        vec![
            AgentEvent::prompt(text).of(agent),
            EventKind::Team(TeamEvent::MessageMoved { message, step }),
            rejection_event(2),
        ],
    );
    assert_eq!(
        (waiting(&state).len(), state.draft_to(&name("bob")).as_str()),
        (0, "two")
    );
}

#[test]
fn rejected_answer_can_be_sent_again() {
    let mut state = busy(160, 45);
    let (first, second) = (permission("r1"), plan("r2", "1. Look"));
    let ids = [first.id.clone(), second.id.clone()];
    for id in &ids {
        apply_events(
            &mut state,
            [&first, &second]
                .map(|request| {
                    EventKind::Team(TeamEvent::RequestChanged {
                        request: request.clone(),
                    })
                })
                .to_vec(),
        );
        state.model.requests.answer(id);
    }
    let answered =
        |state: &crate::ui::UiState| ids.clone().map(|id| state.model.requests.is_answered(&id));
    let decide = |request: &Request| {
        let decision = Decision::on(request, Verdict::Approve, Name::user(), String::new());
        Command::Decide(decision)
    };
    state.assign_id(decide(&permission("another")));
    let id = state.assign_id(decide(&first)).id;
    apply_events(&mut state, vec![rejection_event(1), rejection_event(3)]);
    assert_eq!(answered(&state), [true, true]);
    apply_events(&mut state, vec![EventKind::rejection(id, "no")]);
    assert_eq!(answered(&state), [false, true]);
}

#[test]
fn other_rejections_do_not_end_model_loading() {
    let mut state = started_screen(100, 30);
    press(&mut state, "\"/model\" enter");
    apply_events(&mut state, vec![rejection_event(2)]);
    assert!(picture(&state).contains("Loading models…"));
    apply_events(&mut state, vec![rejection_event(1)]);
    assert_eq!(state.model.models, ModelList::Listed(Vec::new()));
}

#[test]
fn rejected_interrupt_can_be_repeated() {
    let mut state = started_screen(100, 30);
    let (agent, activity) = (Name::lead(), Activity::Thinking);
    apply_events(
        &mut state,
        vec![AgentEvent::ActivityChanged { activity }.of(agent.clone())],
    );
    let stop = || {
        vec![Effect::Command(Command::Interrupt {
            agent: Name::lead(),
        })]
    };
    assert_eq!(press(&mut state, "ctrl+c"), stop());
    apply_events(&mut state, vec![rejection_event(2)]);
    assert_eq!(press(&mut state, "ctrl+c"), []);
    press(&mut state, "x");
    apply_events(&mut state, vec![rejection_event(1)]);
    assert_eq!(press(&mut state, "ctrl+c"), stop());
}

#[test]
fn rejected_message_returns_and_queued_ones_stay() {
    let mut state = busy(160, 45);
    press(&mut state, "\"first\" enter \"second\" enter");
    apply_events(&mut state, vec![rejection_event(2)]);
    let waiting: Vec<_> = state.model.queued.iter().map(|q| q.text.as_str()).collect();
    assert_eq!(
        (waiting, state.input.composer.text().as_str()),
        (vec!["first"], "second")
    );
}

#[test]
fn foreign_prompt_keeps_queued_messages() {
    let mut state = busy(160, 45);
    press(&mut state, "\"@bob mine\" enter");
    let (agent, text) = (name("bob"), "Where do you stand?".to_string());
    apply_events(&mut state, vec![AgentEvent::prompt(text).of(agent)]);
    assert_eq!(state.model.queued.len(), 1);
    let (agent, text) = (name("bob"), "mine".to_string());
    apply_events(&mut state, vec![AgentEvent::prompt(text).of(agent)]);
    assert_eq!(state.model.queued.len(), 0);
}

#[test]
fn rejection_returns_the_form_that_it_names() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3 t \"Draw\" enter t \"Paint\" enter");
    // The crew has rejected the second command because its command queue was full; the first one still waits.
    apply_events(&mut state, vec![rejection_event(2)]);
    let shown = picture(&state);
    assert!(
        shown.contains("New task") && shown.contains("Paint"),
        "{shown}"
    );
    assert!(!shown.contains("Draw"), "{shown}");
}

#[test]
fn offered_models_are_forgotten_when_they_may_have_changed() {
    let listed = || {
        let names = vec!["model-of-the-first-server".into()];
        EventKind::Crew(CrewEvent::ModelsListed { names })
    };
    let is_shown = |state: &UiState| picture(state).contains("model-of-the-first-server");
    let mut state = started_screen(100, 30);
    press(&mut state, "\"/model\" enter");
    apply_events(&mut state, vec![listed()]);
    assert!(is_shown(&state));
    // The server does not answer any more.
    press(&mut state, "esc \"/model\" enter");
    apply_events(&mut state, vec![rejection_event(2)]);
    assert!(!is_shown(&state));
    // A model of another server is used from now on.
    apply_events(&mut state, vec![listed()]);
    assert!(is_shown(&state));
    press(&mut state, "esc");
    apply_events(&mut state, vec![ready()]);
    press(&mut state, "\"/model\" enter");
    assert!(!is_shown(&state) && picture(&state).contains("Loading models…"));
}
