//! Turns that are interrupted: what the conversation says afterwards.

use pretty_assertions::assert_eq;

use super::tests::{asks, calling_turn, done, reads, reply, text, tool};
use super::*;
use crate::domain::chat;

#[test]
fn interrupt_closes_every_open_call() {
    let mut turn = calling_turn(reads());
    turn.step(asks(&[tool("a", "bash"), tool("b", "bash")]));
    turn.step(done("a"));
    let effects = turn.step(TurnInput::Interrupt {
        partial: String::new(),
    });
    assert_eq!(effects.last(), Some(&TurnEffect::End(TurnEnd::Interrupted)));
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
    assert_eq!(
        turn.step(done("b")),
        vec![],
        "a late result changes nothing"
    );
    turn.step(TurnInput::Say(vec![text("go on")]));
    turn.step(TurnInput::Mail(vec![]));
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
    assert_eq!(
        turn.messages().len(),
        3,
        "the prompt joins the results: sides alternate"
    );
}

#[test]
fn abandoned_turn_names_its_cause_and_not_the_user() {
    let why = "the hub is lost";
    let ended = TurnEffect::End(TurnEnd::Stopped { why: why.into() });
    let mut turn = calling_turn(reads());
    turn.step(asks(&[tool("a", "bash")]));
    assert_eq!(turn.step(TurnInput::Abandon(why)), vec![]);
    let effects = turn.step(TurnInput::interrupt());
    assert_eq!(effects.last(), Some(&ended));
    let results = format!("{:?}", turn.messages().last());
    let cause = "Interrupted before this call finished: the hub is lost.";
    assert!(results.contains(cause), "{results}");

    let mut turn = calling_turn(reads());
    turn.step(TurnInput::Abandon(why));
    assert_eq!(turn.step(TurnInput::interrupt()), vec![ended]);
    turn.step(TurnInput::Say(vec![text("again")]));
    turn.step(TurnInput::Mail(vec![]));
    let words = turn.messages()[0].text();
    assert!(!words.contains("The user stopped"), "{words}");
}

#[test]
fn interrupted_answer_keeps_its_partial_text() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(TurnInput::Interrupt {
        partial: "half an ans".into(),
    });
    assert_eq!(
        effects[0],
        TurnEffect::Save(Message::assistant(vec![text("half an ans")]))
    );
    assert_eq!(
        turn.step(reply(vec![text("late")], StopReason::EndTurn)),
        vec![]
    );
}

#[test]
fn message_after_early_interrupt_is_separated() {
    let mut turn = calling_turn(reads());
    let partial = String::new();
    let effects = turn.step(TurnInput::Interrupt { partial });
    assert_eq!(effects, vec![TurnEffect::End(TurnEnd::Interrupted)]);
    turn.step(TurnInput::Say(vec![]));
    turn.step(TurnInput::Mail(vec![text("second")]));
    let messages = turn.messages();
    assert_eq!(chat::validate(&messages), Ok(()));
    let words = messages[0].text();
    let parts = words.split("<crew>The user stopped");
    let parts: Vec<&str> = parts.collect();
    assert_eq!(parts.len(), 2, "{words}");
    assert!(
        !parts[0].contains("second") && parts[1].ends_with("second"),
        "{words}"
    );
}
