//! Step tables of the turn: given a state and an input, these are the effects.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::domain::chat::{self, Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;
use crate::model::{ErrorKind, ModelError};

pub(super) fn text(s: &str) -> Block {
    Block::text(s)
}

pub(super) fn reads() -> TurnLimits {
    TurnLimits {
        parallel_tools: ["read_file".to_string(), "grep".into()].into(),
        ..TurnLimits::default()
    }
}

pub(super) fn tool(id: &str, name: &str) -> ToolCall {
    ToolCall {
        id: CallId(id.into()),
        name: name.into(),
        input: json!({}),
        broken: None,
    }
}

pub(super) fn reply(blocks: Vec<Block>, stop: StopReason) -> TurnInput {
    TurnInput::Replied(Reply {
        blocks,
        stop,
        usage: Usage::default(),
    })
}

pub(super) fn asks(calls: &[ToolCall]) -> TurnInput {
    reply(
        calls.iter().cloned().map(Block::ToolCall).collect(),
        StopReason::ToolUse,
    )
}

pub(super) fn done(id: &str) -> TurnInput {
    TurnInput::ToolDone {
        call: CallId(id.into()),
        content: format!("{id} ok"),
        outcome: Outcome::Ok,
    }
}

pub(super) fn error(fault: ErrorKind) -> TurnInput {
    let error = ModelError::new(fault, "it failed", "do this");
    TurnInput::ModelFailed {
        error,
        jitter: 0.5,
        fallback: FallbackState::None,
    }
}

/// Returns a turn that has just called the model for the first time.
pub(super) fn calling_turn(limits: TurnLimits) -> Turn {
    let mut turn = Turn::new(limits);
    assert_eq!(
        turn.step(TurnInput::Say(vec![text("hi")])),
        vec![TurnEffect::CheckMail]
    );
    let effects = turn.step(TurnInput::Mail(vec![]));
    assert_eq!(
        effects,
        vec![
            TurnEffect::Save(Message::user(vec![text("hi")])),
            TurnEffect::Call
        ]
    );
    turn
}

#[test]
fn answer_without_calls_ends_the_turn() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(reply(vec![text("hello")], StopReason::EndTurn));
    assert_eq!(
        effects,
        vec![
            TurnEffect::Save(Message::assistant(vec![text("hello")])),
            TurnEffect::End(TurnEnd::Done)
        ]
    );
    assert!(turn.is_idle());
}

#[test]
fn wake_without_messages_makes_no_call() {
    let mut turn = Turn::new(reads());
    assert_eq!(
        turn.step(TurnInput::Say(vec![])),
        vec![TurnEffect::CheckMail]
    );
    assert_eq!(
        turn.step(TurnInput::Mail(vec![])),
        vec![TurnEffect::End(TurnEnd::Done)]
    );
    assert_eq!(turn.messages().len(), 0);
}

#[test]
fn reading_calls_run_in_parallel_others_one_by_one() {
    let mut turn = calling_turn(reads());
    let (a, b, c) = (tool("a", "read_file"), tool("b", "grep"), tool("c", "bash"));
    let effects = turn.step(asks(&[a.clone(), b.clone(), c.clone()]));
    assert_eq!(effects.last(), Some(&TurnEffect::Run(vec![a, b])));
    assert_eq!(turn.step(done("b")), vec![]);
    assert_eq!(turn.step(done("a")), vec![TurnEffect::Run(vec![c])]);
    assert_eq!(
        turn.step(done("a")),
        vec![],
        "a second result for a call is ignored"
    );
    assert_eq!(turn.step(done("c")), vec![TurnEffect::CheckMail]);
    let effects = turn.step(TurnInput::Mail(vec![text("message")]));
    let Some(TurnEffect::Save(message)) = effects.first() else {
        panic!("{effects:?}")
    };
    let ids: Vec<_> = message.result_ids().map(|c| c.0.as_str()).collect();
    assert_eq!(
        (ids, message.text().as_str()),
        (vec!["a", "b", "c"], "message")
    );
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn malformed_input_gets_an_error_and_never_runs() {
    let mut turn = calling_turn(reads());
    let broken = ToolCall {
        broken: Some("{\"a\": ".into()),
        ..tool("a", "bash")
    };
    let effects = turn.step(asks(&[broken]));
    assert_eq!(effects.last(), Some(&TurnEffect::CheckMail));
    turn.step(TurnInput::Mail(vec![]));
    let messages = turn.messages();
    let Some(Block::ToolResult {
        content, outcome, ..
    }) = messages[2].blocks.first()
    else {
        panic!("{messages:?}")
    };
    assert!(
        content.contains("not a valid JSON object") && content.contains("{\"a\": "),
        "{content}"
    );
    assert_eq!(*outcome, Outcome::Error);
}

#[test]
fn repeated_or_missing_call_ids_are_made_unique() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(asks(&[
        tool("", "grep"),
        tool("", "grep"),
        tool("x", "grep"),
    ]));
    let Some(TurnEffect::Run(batch)) = effects.last() else {
        panic!("{effects:?}")
    };
    let ids: Vec<_> = batch.iter().map(|c| c.id.0.as_str()).collect();
    assert_eq!(ids, vec!["call", "call-2", "x"]);
}

#[test]
fn cleared_conversation_is_empty_but_keeps_waiting_texts() {
    let mut turn = calling_turn(reads());
    turn.step(TurnInput::Say(vec![text("meanwhile")]));
    assert_eq!(turn.step(TurnInput::Clear), vec![], "an interrupt follows");
    let partial = String::new();
    let effects = turn.step(TurnInput::Interrupt { partial });
    let ends = [TurnEffect::End(TurnEnd::Interrupted), TurnEffect::Clear];
    assert!(effects.ends_with(&ends), "{effects:?}");
    turn.clear("You are alice.");
    assert!(turn.messages().is_empty());
    turn.step(TurnInput::Say(vec![text("hello")]));
    turn.step(TurnInput::Mail(vec![]));
    let said = turn.messages()[0].text();
    assert!(
        said.contains("<identity>You are alice.</identity>"),
        "{said}"
    );
    assert!(
        said.contains("hello") && !said.contains("The user stopped"),
        "{said}"
    );

    turn.step(reply(vec![text("yes")], StopReason::EndTurn));
    let ends = vec![TurnEffect::Clear, TurnEffect::End(TurnEnd::Done)];
    assert_eq!(turn.step(TurnInput::Clear), ends);
    turn.clear("");
    let effects = turn.step(TurnInput::Clear);
    assert!(matches!(effects[0], TurnEffect::Notice(..)), "{effects:?}");
}

#[test]
fn denied_call_ends_the_turn_and_accepts_new_messages() {
    let mut turn = calling_turn(reads());
    turn.step(TurnInput::Say(vec![text("also")]));
    let why = "too much";
    let effects = turn.step(TurnInput::Stop { why: why.into() });
    let end = TurnEnd::Stopped { why: why.into() };
    assert_eq!(effects.last(), Some(&TurnEffect::End(end)));
    assert!(turn.is_idle());
    assert_eq!(turn.step(TurnInput::Stop { why: why.into() }), vec![]);
    turn.step(TurnInput::Say(vec![text("go on")]));
    assert_eq!(
        turn.step(TurnInput::Mail(vec![])).last(),
        Some(&TurnEffect::Call)
    );
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
    assert_eq!(turn.messages()[0].text().matches("also").count(), 1);
}

#[test]
fn failure_is_retried_then_ends_the_turn_with_a_hint() {
    let mut turn = calling_turn(reads());
    let mut tries = 0;
    let end = loop {
        let effects = turn.step(error(ErrorKind::RateLimited));
        match &effects[..] {
            [TurnEffect::Wait { attempt, cause, .. }] => {
                tries += 1;
                assert_eq!((*attempt, cause.as_str()), (tries, "it failed"));
                assert_eq!(turn.step(TurnInput::RetryDue), vec![TurnEffect::Call]);
            }
            [TurnEffect::End(end)] => break end.clone(),
            other => panic!("{other:?}"),
        }
        assert!(tries < 100, "429 forever must end");
    };
    let TurnEnd::Failed { error, hint } = end else {
        panic!("{end:?}")
    };
    assert!(error.contains("given up after"), "{error}");
    assert_eq!(hint, "do this");
    turn.step(TurnInput::Say(vec![text("again")]));
    turn.step(TurnInput::Mail(vec![]));
    assert_eq!(
        chat::validate(&turn.messages()),
        Ok(()),
        "the prompt joins the one without answer"
    );
}

#[test]
fn authentication_failure_is_not_retried() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(error(ErrorKind::Auth));
    assert_eq!(
        effects,
        vec![TurnEffect::End(TurnEnd::Failed {
            error: "it failed".into(),
            hint: "do this".into()
        })]
    );
}

#[test]
fn empty_answer_is_retried_twice() {
    let mut turn = calling_turn(reads());
    for blocks in [vec![text(" \n")], vec![]] {
        assert_eq!(
            turn.step(reply(blocks, StopReason::EndTurn)),
            vec![TurnEffect::CheckMail]
        );
        // The model would often answer the same request with an empty answer again, so a text is added.
        let effects = turn.step(TurnInput::Mail(vec![]));
        let [TurnEffect::Save(added), TurnEffect::Call] = &effects[..] else {
            panic!("{effects:?}");
        };
        assert!(added.text().contains("was empty"), "{added:?}");
        assert_eq!(chat::validate(&turn.messages()), Ok(()));
    }
    let effects = turn.step(reply(vec![], StopReason::EndTurn));
    assert!(
        matches!(&effects[..], [TurnEffect::End(TurnEnd::Failed { .. })]),
        "{effects:?}"
    );
    assert_eq!(chat::validate(&turn.messages()), Ok(()));
}

#[test]
fn answer_at_its_length_limit_is_continued_once() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(reply(vec![text("part one")], StopReason::MaxTokens));
    assert_eq!(effects.last(), Some(&TurnEffect::CheckMail));
    turn.step(TurnInput::Mail(vec![]));
    let effects = turn.step(reply(vec![text("part two")], StopReason::MaxTokens));
    assert!(
        matches!(
            effects.last(),
            Some(TurnEffect::End(TurnEnd::Stopped { .. }))
        ),
        "{effects:?}"
    );
}

#[test]
fn other_stop_reasons_end_the_turn() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(reply(vec![text("thinking…")], StopReason::PauseTurn));
    assert_eq!(
        effects.last(),
        Some(&TurnEffect::Call),
        "a paused turn is sent again"
    );
    let effects = turn.step(reply(vec![text("no")], StopReason::Refusal));
    assert!(matches!(
        effects.last(),
        Some(TurnEffect::End(TurnEnd::Stopped { .. }))
    ));
    assert_eq!(
        turn.messages().len(),
        2,
        "both parts are one message: sides alternate"
    );
    let mut turn = calling_turn(reads());
    let effects = turn.step(reply(vec![], StopReason::ContextExceeded));
    assert!(matches!(
        effects.last(),
        Some(TurnEffect::End(TurnEnd::Failed { .. }))
    ));
}

#[test]
fn text_received_meanwhile_is_added_before_the_next_call() {
    let mut turn = calling_turn(reads());
    turn.step(asks(&[tool("a", "bash")]));
    assert_eq!(turn.step(TurnInput::Say(vec![text("also this")])), vec![]);
    turn.step(done("a"));
    turn.step(TurnInput::Mail(vec![]));
    assert_eq!(turn.messages()[2].text(), "also this");
    turn.step(TurnInput::Say(vec![text("and that")]));
    let effects = turn.step(reply(vec![text("fine")], StopReason::EndTurn));
    assert_eq!(
        effects.last(),
        Some(&TurnEffect::CheckMail),
        "the turn goes on with what was said"
    );
}

#[test]
fn reminder_follows_three_rounds_with_open_todos() {
    let mut turn = calling_turn(reads());
    turn.step(TurnInput::TodoSet(true));
    let mut words = Vec::new();
    for round in 0..4 {
        let id = round.to_string();
        turn.step(asks(&[tool(&id, "bash")]));
        turn.step(done(&id));
        turn.step(TurnInput::Mail(vec![]));
        words.push(turn.messages().last().unwrap().text());
    }
    assert_eq!(words, vec!["", "", REMINDER, REMINDER]);
    turn.step(TurnInput::TodoSet(false));
    turn.step(asks(&[tool("z", "bash")]));
    turn.step(done("z"));
    turn.step(TurnInput::Mail(vec![]));
    assert_eq!(turn.messages().last().unwrap().text(), "");
}

#[test]
fn withdrawn_messages_leave_the_conversation() {
    let mut turn = Turn::new(TurnLimits::default());
    turn.step(TurnInput::Say(vec![text("hello")]));
    turn.step(TurnInput::Mail(vec![text("<inbox>")]));
    turn.withdraw(&[text("<inbox>")]);
    assert_eq!(*turn.messages(), [Message::user(vec![text("hello")])]);
    turn.withdraw(&[text("hello")]);
    assert_eq!(*turn.messages(), []);
    let why = String::new();
    let effects = turn.step(TurnInput::Stop { why });
    assert!(matches!(effects[..], [TurnEffect::End(_)]), "{effects:?}");
}
