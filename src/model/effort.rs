//! Replaces a reasoning effort that a model refuses. Models accept different levels, and some accept none. Does no I/O.

use super::{ErrorKind, ModelError};
use crate::domain::role::RoleEffort;

const LEVELS: [RoleEffort; 5] = [
    RoleEffort::Low,
    RoleEffort::Medium,
    RoleEffort::High,
    RoleEffort::Xhigh,
    RoleEffort::Max,
];

/// Names of request fields and objects that contain the effort. An error message that contains one of these names is
/// about the effort.
const FIELDS: [&str; 3] = ["effort", "output_config", "reasoning"];

/// Texts that precede the list of accepted levels in error messages.
const BEFORE_LEVELS: [&str; 8] = [
    "supported",
    "one of",
    "must be",
    "should be",
    "expected",
    "allowed",
    "valid values",
    "accepts",
];

/// Parts of error messages in which a server refuses the field for the effort, and not only its value.
const FIELD_REFUSALS: [&str; 6] = [
    "parameter",
    "argument",
    "extra inputs",
    "not permitted",
    "unrecognized",
    "unknown",
];

/// Parts of error messages in which a server refuses a value. Some of these messages do not name the field.
const VALUE_REFUSALS: [&str; 3] = ["unsupported value", "supported values", "invalid value"];

/// What requests contain in place of a reasoning effort that the model has refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortReplacement {
    Level(RoleEffort),
    /// No level: the requests contain no effort.
    Nothing,
}

/// Returns the word for a level in the APIs of OpenAI. Their highest level is `xhigh`, which is also returned for
/// `max`.
pub fn openai_word(effort: RoleEffort) -> &'static str {
    match effort {
        RoleEffort::Max => RoleEffort::Xhigh.word(),
        RoleEffort::Low | RoleEffort::Medium | RoleEffort::High | RoleEffort::Xhigh => {
            effort.word()
        }
    }
}

/// Returns the level that is nearest to a maximum of `tokens` for thinking, for a server that accepts a level but no
/// such maximum. The levels low, medium and high stand for 1,024, 8,192 and 24,576 tokens, as Google documents them for
/// Chat Completions.
pub fn for_budget(tokens: u32) -> RoleEffort {
    match tokens {
        0..=4608 => RoleEffort::Low,
        4609..=16_384 => RoleEffort::Medium,
        16_385.. => RoleEffort::High,
    }
}

/// Returns what to send after a request with the effort `level` has failed with `error`. Returns `None` if the error
/// has another cause. The words of the error message decide, because servers use different fields and messages.
///
/// The first of these rules that applies decides:
///
/// - The message lists accepted levels: the highest listed level below `level`. If there is none and `may_raise` is
///   true, the lowest listed level above `level`.
/// - The message refuses the value and not the field, and `level` is `max`: `xhigh`, or `high` if the message names
///   `xhigh`.
/// - The message refuses the value and not the field, and `level` is `xhigh`: `high`.
/// - All other cases: [`EffortReplacement::Nothing`].
pub fn replacement(
    error: &ModelError,
    level: RoleEffort,
    may_raise: bool,
) -> Option<EffortReplacement> {
    let may_be = matches!(
        error.kind,
        ErrorKind::BadRequest | ErrorKind::UnknownModel | ErrorKind::Server
    );
    let lower = error.message.to_lowercase();
    let names = |level: RoleEffort| words(&lower).any(|word| word == level.word());
    let names_value = names(level) || words(&lower).any(|word| word == openai_word(level));
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if !may_be || !(has(&FIELDS) || (names_value && has(&VALUE_REFUSALS))) {
        return None;
    }
    let list = BEFORE_LEVELS
        .iter()
        .filter_map(|part| lower.rfind(part))
        .max();
    let listed: Vec<RoleEffort> = list.map_or_else(Vec::new, |at| {
        let list: Vec<&str> = words(&lower[at..]).collect();
        let is_listed = |level: &RoleEffort| list.contains(&level.word());
        LEVELS.into_iter().filter(is_listed).collect()
    });
    let below = listed.iter().rev().find(|other| **other < level);
    let above = listed.iter().find(|other| **other > level && may_raise);
    let next = below.or(above).copied();
    let is_value = names_value || !has(&FIELD_REFUSALS);
    Some(match (next, level) {
        (Some(next), _) => EffortReplacement::Level(next),
        // The highest level of OpenAI's APIs was sent for `max`.
        (None, RoleEffort::Max) if is_value && !names(RoleEffort::Xhigh) => {
            EffortReplacement::Level(RoleEffort::Xhigh)
        }
        (None, RoleEffort::Max | RoleEffort::Xhigh) if is_value => {
            EffortReplacement::Level(RoleEffort::High)
        }
        (None, _) => EffortReplacement::Nothing,
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use RoleEffort::{High, Low, Max, Medium, Xhigh};
    use pretty_assertions::assert_eq;

    fn bad_request(text: &str) -> ModelError {
        let text = format!("the server rejected the request (400): {text}");
        ModelError::new(ErrorKind::BadRequest, text, "")
    }

    #[test]
    fn refused_level_is_replaced_by_the_nearest_accepted_one() {
        let gpt = "Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'. [invalid_request_error]";
        for (text, level, expected) in [
            (gpt, Max, Some(High)),
            (gpt, Xhigh, Some(High)),
            (
                "`reasoning_effort`: expected one of low, medium, high",
                Max,
                Some(High),
            ),
            (
                "output_config.effort \"xhigh\" is not supported by this model; supported values: low, medium, high, max",
                Xhigh,
                Some(High),
            ),
            (
                "output_config.effort: Input should be 'low', 'medium' or 'high'",
                Max,
                Some(High),
            ),
            (
                "reasoning.effort: Unsupported value: 'medium' is not supported with the 'gpt-5-pro' model. Supported values are: 'high'.",
                Medium,
                Some(High),
            ),
            (
                "reasoning.effort: Unsupported value: 'max' is not supported with this model.",
                Max,
                Some(Xhigh),
            ),
            (
                "reasoning.effort: Unsupported value: 'xhigh' is not supported with this model.",
                Max,
                Some(High),
            ),
            ("reasoning_effort: invalid", Xhigh, Some(High)),
            ("reasoning_effort: invalid", High, None),
            (
                "This model does not support the effort parameter.",
                Max,
                None,
            ),
            ("output_config: Extra inputs are not permitted", Xhigh, None),
            (
                "Unrecognized request argument supplied: reasoning_effort",
                High,
                None,
            ),
            (
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                Max,
                None,
            ),
        ] {
            let expected = expected.map_or(EffortReplacement::Nothing, EffortReplacement::Level);
            let found = replacement(&bad_request(text), level, true);
            assert_eq!(found, Some(expected), "{level:?}: {text}");
        }
    }

    #[test]
    fn other_errors_are_no_refusals_of_the_effort() {
        let limited = ModelError::new(ErrorKind::RateLimited, "too much reasoning", "");
        assert_eq!(replacement(&limited, High, true), None);
        for text in [
            "max_tokens is too large",
            "the value of max_tokens is too high",
            "no",
        ] {
            assert_eq!(replacement(&bad_request(text), High, true), None, "{text}");
        }
    }

    #[test]
    fn budget_becomes_the_nearest_level() {
        for (tokens, expected) in [
            (1024, Low),
            (4096, Low),
            (8000, Medium),
            (16_000, Medium),
            (32_000, High),
        ] {
            assert_eq!(for_budget(tokens), expected, "{tokens}");
        }
    }

    #[test]
    fn refusals_end_with_no_effort() {
        // A server that refuses every level, but lists them all.
        let error = bad_request("reasoning_effort must be one of low, medium, high, xhigh, max");
        for first in LEVELS {
            let (mut level, mut tries) = (first, 1);
            while let Some(EffortReplacement::Level(next)) =
                replacement(&error, level, level == first && tries == 1)
            {
                (level, tries) = (next, tries + 1);
                assert!(tries <= 6, "{first:?}");
            }
        }
    }
}
