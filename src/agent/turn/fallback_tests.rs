//! Tests of a turn whose model is replaced, and of advice for an agent without progress.

use pretty_assertions::assert_eq;

use super::length_tests::{grown, reply};
use super::tests::{calling_turn, reads, text};
use super::*;
use crate::domain::chat;
use crate::model::{ErrorKind, ModelError};

#[test]
fn failure_for_good_names_the_fallback_that_cannot_be_used() {
    let failed = |fallback| TurnInput::ModelFailed {
        error: ModelError::new(ErrorKind::Auth, "it failed", "do this"),
        jitter: 0.5,
        fallback,
    };
    let why = "the model 'fast' cannot be used: there is no key".to_string();
    let mut turn = calling_turn(reads());
    let effects = turn.step(failed(FallbackState::Unusable(why)));
    let error = "it failed; it has no fallback: the model 'fast' cannot be used: there is no key";
    assert_eq!(
        effects,
        vec![TurnEffect::End(TurnEnd::Failed {
            error: error.into(),
            hint: "do this".into()
        })]
    );
    let mut turn = calling_turn(reads());
    let replaced = TurnEffect::UseFallback {
        why: "it failed".into(),
    };
    let effects = turn.step(failed(FallbackState::Usable));
    assert_eq!(effects, vec![replaced, TurnEffect::Call]);
}

#[test]
fn outage_of_the_summary_model_replaces_it() {
    let (mut turn, _) = grown(900, "fine");
    let mut tries = 0;
    loop {
        let effects = turn.step(TurnInput::ModelFailed {
            error: ModelError::new(ErrorKind::Unreachable, "it is down", ""),
            jitter: 0.5,
            fallback: FallbackState::Usable,
        });
        match &effects[..] {
            [TurnEffect::Wait { .. }] => {
                turn.step(TurnInput::RetryDue);
            }
            [TurnEffect::UseFallback { why }, TurnEffect::Summarise(_)] => {
                assert_eq!(why, "it is down");
                break;
            }
            other => panic!("{other:?}"),
        }
        tries += 1;
        assert!(tries < 100, "an outage must end");
    }
    let summary = vec![Block::text("so far so good")];
    let effects = turn.step(reply(summary, StopReason::EndTurn, 900));
    assert_eq!(effects, vec![TurnEffect::Archive]);
}

#[test]
fn advice_is_in_the_next_model_call() {
    let mut turn = calling_turn(reads());
    let effects = turn.step(TurnInput::Advice(vec![text("use make check")]));
    assert_eq!(effects, vec![TurnEffect::CheckMail]);
    let effects = turn.step(TurnInput::Mail(vec![]));
    assert_eq!(effects.last(), Some(&TurnEffect::Call));
    let messages = turn.messages();
    assert_eq!(chat::validate(&messages), Ok(()));
    assert!(messages.last().unwrap().text().contains("use make check"));
}
