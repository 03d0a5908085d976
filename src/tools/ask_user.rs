//! `ask_user`: asks the user a question, with or without choices; the answer is the result.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    format_field, schema_of,
};
use crate::domain::request::{NewRequest, Request, RequestKind, RequestStatus};
use crate::domain::text::{head_and_tail, one_line};

/// Maximum size of a question, in bytes. A longer question is cut in the middle.
const QUESTION_MAX: usize = 8 * 1024;
/// Allowed number of choices, if a question has any. The dialog has keys for no more than 6.
const CHOICES: std::ops::RangeInclusive<usize> = 2..=6;
/// Maximum length of a choice, in characters, so that it fits the dialog. A longer choice is an error.
const CHOICE_MAX: usize = 200;

/// The tool result if the wait ends before the user has answered.
const UNDECIDED_QUESTION: &str = "The user has not answered yet, and the question stays open. End your turn now: the answer \
     arrives as a message, and you continue then. Do not ask again.";

pub const TOOL: Tool = Tool {
    name: "ask_user",
    text: include_str!("ask_user.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |input| format_field(input, "question"),
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The question, with everything the user needs to decide it.
    question: String,
    /// 2 to 6 short answers to choose from; the user can still answer freely.
    #[schemars(length(min = 2, max = 6))]
    #[serde(default)]
    choices: Option<Vec<String>>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let asking = build_request(&context, input)?;
    let asked = context.host.ask(&context.agent, asking).await;
    Ok(answer(&asked.map_err(error_output)?))
}

fn build_request(context: &ToolContext, input: Input) -> Result<NewRequest, ToolOutput> {
    if input.question.trim().is_empty() {
        return Err(error_output("the question is empty"));
    }
    let choices: Vec<String> = input
        .choices
        .unwrap_or_default()
        .iter()
        .map(|c| one_line(c.trim()))
        .collect();
    if !choices.is_empty() && !CHOICES.contains(&choices.len()) {
        let count = choices.len();
        return Err(error_output(format!("pass 2 to 6 choices, not {count}")));
    }
    if choices.iter().any(String::is_empty) {
        return Err(error_output("a choice is empty"));
    }
    if choices.iter().any(|c| c.chars().count() > CHOICE_MAX) {
        return Err(error_output(format!(
            "a choice has more than {CHOICE_MAX} characters: move details into the question"
        )));
    }
    let body = head_and_tail(input.question.trim(), QUESTION_MAX);
    Ok(NewRequest {
        choices,
        workdir: context.relative_workdir(),
        wait_max: context.decision_wait(),
        ..NewRequest::new(RequestKind::Question, &context.agent, body)
    })
}

/// Converts the request into the tool result. A question that the user does not answer is no error: the agent
/// decides. A withdrawn question is an error.
fn answer(request: &Request) -> ToolOutput {
    let comment = request.comment.trim();
    match (request.status, comment) {
        (RequestStatus::Approved, "") => ToolOutput::ok("The user says yes."),
        (RequestStatus::Approved, comment) => {
            ToolOutput::ok(format!("The user answers: {comment}"))
        }
        (RequestStatus::Rejected, "") => {
            ToolOutput::ok("The user does not answer; decide yourself.")
        }
        (RequestStatus::Rejected, comment) => ToolOutput::ok(format!(
            "The user does not answer ({comment}); decide yourself."
        )),
        (RequestStatus::Pending, _) => ToolOutput::ok(UNDECIDED_QUESTION),
        (RequestStatus::Withdrawn, _) => {
            error_output("the question was withdrawn before the user answered")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::Outcome;
    use crate::domain::ids::{Name, RequestId};
    use crate::domain::request::{Decision, Verdict};
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    fn decide_and_answer(verdict: Verdict, by: Name, comment: &str) -> (Outcome, String) {
        let asking = NewRequest::new(RequestKind::Question, &Name::lead(), "Which?".into());
        let id = RequestId("q1".into());
        let mut request = Request::new(
            id.clone(),
            asking.kind,
            Name::lead(),
            asking.target,
            asking.body,
            Timestamp(1.0),
        );
        let decision = Decision {
            id,
            kind: RequestKind::Question,
            target: Name::lead(),
            verdict,
            by,
            comment: comment.into(),
        };
        request.decide(&decision, Timestamp(2.0)).unwrap();
        let output = answer(&request);
        (output.outcome, output.text)
    }

    #[test]
    fn undecided_question_tells_the_agent_to_end_its_turn() {
        let request = Request::new(
            RequestId("q1".into()),
            RequestKind::Question,
            Name::lead(),
            Name::lead(),
            "Which?".into(),
            Timestamp(1.0),
        );
        let output = answer(&request);
        assert_eq!(output.outcome, Outcome::Ok);
        assert!(
            output.text.contains("arrives as a message"),
            "{}",
            output.text
        );
    }

    #[test]
    fn every_answer_becomes_result_text() {
        let cases = [
            (Verdict::Approve, "blue", "The user answers: blue"),
            (Verdict::Approve, "", "The user says yes."),
            (
                Verdict::Reject,
                "",
                "The user does not answer; decide yourself.",
            ),
            (
                Verdict::Reject,
                "ask bob",
                "The user does not answer (ask bob); decide yourself.",
            ),
        ];
        for (verdict, comment, expected) in cases {
            let expected = (Outcome::Ok, expected.to_string());
            assert_eq!(decide_and_answer(verdict, Name::user(), comment), expected);
        }
    }
}
