//! The requests that the user decides, as the editor shows them: a card with options, or a form for the answer to a
//! question.

use std::collections::VecDeque;

use agent_client_protocol::RawJsonRpcId;
use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    RequestPermissionRequest, SessionId, SessionUpdate, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use super::options::{ANSWER_FIELD, decide, form_answer, option_answer, options};
use super::tool_calls;
use super::updates::{UpdateTranslator, of_agent};
use crate::domain::ids::RequestId;
use crate::domain::request::{Approver, Request, RequestKind, RequestStatus, Verdict};
use crate::domain::text::escape_control_chars;
use crate::protocol::{Command, CommandId};

/// A request of an agent that waits for the user's decision.
#[derive(Debug)]
struct WaitingRequest {
    request: Request,
    /// The id of the JSON-RPC request with which the editor was asked to show the question. `None` if the editor was
    /// not asked yet or has answered.
    asked: Option<RawJsonRpcId>,
    /// The id of the card that the editor shows for this request. `None` before the user is first asked, and if the
    /// request is shown in the card of its tool call or in a form.
    card: Option<String>,
    /// Whether the editor has answered without a decision. The user is asked again with the next prompt.
    is_postponed: bool,
    /// The id of the command with the user's decision; `None` before the user decides. Set back to `None` if the crew
    /// rejects the command.
    decided: Option<CommandId>,
}

/// A JSON-RPC request that makes the editor ask the user: with a card that has options, or with a form.
#[derive(Debug)]
pub enum EditorQuestion {
    Permission(RequestPermissionRequest),
    Form(CreateElicitationRequest),
}

/// What must be sent to the editor because a request was decided or withdrawn.
#[derive(Debug, PartialEq)]
pub struct Withdrawal {
    /// The id of the JSON-RPC request to the editor that must be cancelled; `None` if the editor has answered it or was
    /// not asked.
    pub cancel: Option<RawJsonRpcId>,
    /// The update that ends the card of the request; `None` if it has no card of its own.
    pub update: Option<SessionUpdate>,
}

/// The user's answer to a request that the editor has shown.
#[derive(Debug, PartialEq)]
pub enum EditorAnswer {
    Decision(RequestId, Command),
    /// The user answers the question with the next message.
    NextMessage(RequestId),
    /// The user has not decided, or the answer is unusable. The user is asked again with the next prompt.
    Later,
}

/// The requests that wait for the user. There are at most as many as agents, because each agent waits until its request
/// is decided.
#[derive(Debug)]
pub struct EditorRequests {
    session: SessionId,
    /// Whether the editor can show forms.
    has_forms: bool,
    waiting: Vec<WaitingRequest>,
    /// The questions that the user answers with the next messages, oldest first.
    answers: VecDeque<RequestId>,
}

impl EditorRequests {
    pub fn new(session: SessionId, has_forms: bool) -> EditorRequests {
        EditorRequests {
            session,
            has_forms,
            waiting: Vec::new(),
            answers: VecDeque::new(),
        }
    }

    /// Records the new state of a request. If a recorded request no longer waits for the user, returns what must be
    /// sent to the editor so that it no longer shows the request; otherwise returns `None`.
    pub fn update(&mut self, request: &Request) -> Option<Withdrawal> {
        let at = self.waiting.iter().position(|w| w.request.id == request.id);
        if request.is_pending() && request.approver == Approver::Ask {
            match at.and_then(|at| self.waiting.get_mut(at)) {
                Some(waiting) => waiting.request = request.clone(),
                None => self.waiting.push(WaitingRequest {
                    request: request.clone(),
                    asked: None,
                    card: None,
                    is_postponed: false,
                    decided: None,
                }),
            }
            return None;
        }
        let waiting = self.waiting.remove(at?);
        self.answers.retain(|id| *id != request.id);
        let update = waiting.card.map(|card| end_of_card(card, request));
        Some(Withdrawal {
            cancel: waiting.asked,
            update,
        })
    }

    /// Returns the next request about which the user must be asked, and the message that asks; `None` if there is none.
    /// Call [`EditorRequests::asked`] after sending the message.
    pub fn next_question(
        &self,
        translator: &UpdateTranslator,
    ) -> Option<(RequestId, EditorQuestion)> {
        let is_open = |w: &&WaitingRequest| {
            let is_shown = w.asked.is_some() || w.is_postponed || w.decided.is_some();
            !is_shown && !self.answers.contains(&w.request.id)
        };
        let request = &self.waiting.iter().find(is_open)?.request;
        Some((request.id.clone(), self.question(request, translator)))
    }

    /// Records that `question`, which asks about the request `request`, was sent to the editor with the JSON-RPC id
    /// `id`.
    pub fn asked(&mut self, request: &RequestId, id: RawJsonRpcId, question: &EditorQuestion) {
        let card = match question {
            EditorQuestion::Permission(shown) => {
                let card = shown.tool_call.tool_call_id.0.to_string();
                (card == card_id(request)).then_some(card)
            }
            EditorQuestion::Form(_) => None,
        };
        if let Some(waiting) = self.waiting.iter_mut().find(|w| w.request.id == *request) {
            waiting.asked = Some(id);
            waiting.card = card;
        }
    }

    /// Handles the editor's answer to the JSON-RPC request `id`, and returns the user's answer. Returns `None` if no
    /// waiting request was sent with this id. Returns [`EditorAnswer::Later`] if `answer` is `None` or not usable.
    pub fn answer(&mut self, id: &RawJsonRpcId, answer: Option<Value>) -> Option<EditorAnswer> {
        let is_asked = |w: &&mut WaitingRequest| w.asked.as_ref().is_some_and(|asked| asked == id);
        let waiting = self.waiting.iter_mut().find(is_asked)?;
        waiting.asked = None;
        let request = &waiting.request;
        // Only a question is asked with a form, and a question without a form has a card.
        let answer = match (answer, &waiting.card, request.kind) {
            (None, ..) => EditorAnswer::Later,
            (Some(answer), None, RequestKind::Question) => form_answer(request, answer),
            (Some(answer), ..) => option_answer(request, answer),
        };
        match &answer {
            EditorAnswer::NextMessage(id) => self.answers.push_back(id.clone()),
            EditorAnswer::Later => waiting.is_postponed = true,
            EditorAnswer::Decision(..) => {}
        }
        Some(answer)
    }

    /// Records that the user's decision about `request` was sent to the crew with the command `command`.
    pub fn decided(&mut self, request: &RequestId, command: CommandId) {
        if let Some(waiting) = self.waiting.iter_mut().find(|w| w.request.id == *request) {
            waiting.decided = Some(command);
        }
    }

    /// Records that the crew has rejected a command. Returns whether the command contained the decision about a waiting
    /// request; the user must then decide again.
    pub fn rejected(&mut self, command: CommandId) -> bool {
        let is_decided = |w: &&mut WaitingRequest| w.decided == Some(command);
        let waiting = self.waiting.iter_mut().find(is_decided);
        waiting.is_some_and(|waiting| waiting.decided.take().is_some())
    }

    /// Lets the user be asked again about the requests that the editor has answered without a decision.
    pub fn ask_again(&mut self) {
        for waiting in &mut self.waiting {
            waiting.is_postponed = false;
        }
    }

    /// Returns the oldest question that the user wants to answer with the next message, and the command that answers it
    /// with `text`; `None` if there is no such question.
    pub fn answer_with_message(&mut self, text: &str) -> Option<(RequestId, Command)> {
        let id = self.answers.pop_front()?;
        let request = &self.waiting.iter().find(|w| w.request.id == id)?.request;
        let answer = request.resolve_answer(text.trim());
        Some((id, decide(request, Verdict::Approve, answer)))
    }

    fn question(&self, request: &Request, translator: &UpdateTranslator) -> EditorQuestion {
        let body = escape_control_chars(&request.body);
        if request.kind == RequestKind::Question && request.choices.is_empty() && self.has_forms {
            let schema = ElicitationSchema::new().string(ANSWER_FIELD, true);
            let scope = ElicitationSessionScope::new(self.session.clone());
            let form = ElicitationFormMode::new(scope, schema);
            let message = of_agent(&request.from, &body);
            return EditorQuestion::Form(CreateElicitationRequest::new(form, message));
        }
        let call = request.call.as_ref();
        let running = call.and_then(|call| translator.running_call(&call.tool, &call.input));
        let running = running.filter(|_| request.from.is_lead());
        let card = match running {
            Some(id) => {
                let content = vec![tool_calls::code(&body)];
                ToolCallUpdate::new(id.to_string(), ToolCallUpdateFields::new().content(content))
            }
            None => {
                let first = body.lines().next().unwrap_or_default();
                let (title, kind) = match request.kind {
                    RequestKind::Permission => (of_agent(&request.from, first), ToolKind::Execute),
                    RequestKind::Question => (of_agent(&request.from, first), ToolKind::Other),
                    RequestKind::Plan => (sentence(&request.describe()), ToolKind::Think),
                    RequestKind::Shutdown | RequestKind::Budget => {
                        (sentence(&request.describe()), ToolKind::Other)
                    }
                };
                let content = match request.kind {
                    // Agents write plans and questions in Markdown.
                    RequestKind::Plan | RequestKind::Question => tool_calls::markdown(&body),
                    RequestKind::Permission | RequestKind::Shutdown | RequestKind::Budget => {
                        tool_calls::code(&body)
                    }
                };
                tool_calls::card(&card_id(&request.id), &title, kind, content)
            }
        };
        let options = options(request);
        EditorQuestion::Permission(RequestPermissionRequest::new(
            self.session.clone(),
            card,
            options,
        ))
    }
}

fn card_id(request: &RequestId) -> String {
    format!("request-{request}")
}

fn end_of_card(card: String, request: &Request) -> SessionUpdate {
    let status = match request.status {
        RequestStatus::Approved => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    };
    let mut text = format!("{} by {}", request.status_word(), request.decided_by);
    if !request.comment.is_empty() {
        text.push_str(": ");
        text.push_str(&escape_control_chars(&request.comment));
    }
    let content = vec![tool_calls::markdown(&text)];
    let fields = ToolCallUpdateFields::new().status(status).content(content);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(card, fields))
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::app::acp::plan::EditorPlan;
    use crate::domain::ids::Name;
    use crate::domain::permission::PermissionScope;
    use crate::domain::request::PendingCall;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn request(kind: RequestKind) -> Request {
        let bob = Name::member("bob").unwrap();
        let id = RequestId("r1".into());
        let body = "Which `color`?".into();
        let mut request = Request::new(id, kind, bob.clone(), bob, body, Timestamp(1.0));
        if kind == RequestKind::Permission {
            let command = "rm -rf target".to_string();
            request.call = Some(PendingCall {
                tool: "bash".into(),
                input: command.clone(),
                why: "it deletes".into(),
                scopes: vec![PermissionScope::Exact { command }],
            });
        }
        request
    }

    /// Asks the user about `request`, and returns the question as JSON.
    fn asked(requests: &mut EditorRequests, request: &Request) -> Value {
        let plan = EditorPlan::default();
        let translator = UpdateTranslator::new(Path::new("/p"), false, plan);
        assert_eq!(requests.update(request), None);
        let (id, question) = requests.next_question(&translator).unwrap();
        requests.asked(&id, RawJsonRpcId::Number(7), &question);
        assert!(requests.next_question(&translator).is_none());
        match question {
            EditorQuestion::Permission(shown) => serde_json::to_value(shown).unwrap(),
            EditorQuestion::Form(form) => serde_json::to_value(form).unwrap(),
        }
    }

    fn chosen(requests: &mut EditorRequests, option: &str) -> EditorAnswer {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        requests
            .answer(&RawJsonRpcId::Number(7), Some(outcome))
            .unwrap()
    }

    fn requests(has_forms: bool) -> EditorRequests {
        EditorRequests::new(SessionId::new("s"), has_forms)
    }

    /// Returns the verdict and the comment of a decision.
    fn verdict(answer: EditorAnswer) -> (Verdict, String) {
        match answer {
            EditorAnswer::Decision(_, Command::Decide(decision)) => {
                (decision.verdict, decision.comment)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_of_each_kind_are_decisions() {
        for (kind, options) in [
            (RequestKind::Permission, vec!["allow", "scope-0", "reject"]),
            (RequestKind::Plan, vec!["allow", "reject"]),
            (RequestKind::Shutdown, vec!["allow", "reject"]),
            (RequestKind::Budget, vec!["allow", "reject"]),
            (RequestKind::Question, vec!["write", "reject"]),
        ] {
            let all = &mut requests(false);
            let request = request(kind);
            let shown = asked(all, &request);
            let ids: Vec<&str> = shown["options"]
                .as_array()
                .unwrap()
                .iter()
                .map(|o| o["optionId"].as_str().unwrap())
                .collect();
            assert_eq!(ids, options, "{kind}");
            assert_eq!(shown["toolCall"]["toolCallId"], "request-r1");
            let rejected = verdict(chosen(all, "reject"));
            assert_eq!(rejected, (Verdict::Reject, String::new()), "{kind}");
        }
        let all = &mut requests(false);
        asked(all, &request(RequestKind::Permission));
        let answer = chosen(all, "scope-0");
        assert!(
            matches!(answer, EditorAnswer::Decision(_, Command::Allow { .. })),
            "{answer:?}"
        );
    }

    #[test]
    fn question_is_answered_by_choice_by_form_or_by_the_next_message() {
        let mut question = request(RequestKind::Question);
        question.choices = vec!["red".into(), "green".into()];
        let all = &mut requests(true);
        asked(all, &question);
        let green = (Verdict::Approve, "green".to_string());
        assert_eq!(verdict(chosen(all, "choice-1")), green);

        question.choices.clear();
        let all = &mut requests(true);
        let form = asked(all, &question);
        assert_eq!(form["message"], "bob: Which `color`?");
        let answer = json!({ "action": "accept", "content": { "answer": " green " } });
        let answer = all.answer(&RawJsonRpcId::Number(7), Some(answer)).unwrap();
        assert_eq!(verdict(answer), green);

        let all = &mut requests(false);
        asked(all, &question);
        assert_eq!(all.answer_with_message("too early"), None);
        let id = question.id.clone();
        assert_eq!(chosen(all, "write"), EditorAnswer::NextMessage(id.clone()));
        let (answered, command) = all.answer_with_message("green\n").unwrap();
        assert_eq!(answered, id);
        assert_eq!(verdict(EditorAnswer::Decision(id, command)), green);
        assert_eq!(all.answer_with_message("the next prompt"), None);
    }

    #[test]
    fn decision_made_elsewhere_withdraws_the_question() {
        let mut request = request(RequestKind::Plan);
        let all = &mut requests(false);
        asked(all, &request);
        request.status = RequestStatus::Approved;
        request.decided_by = "user".into();
        let withdrawal = all.update(&request).unwrap();
        assert_eq!(withdrawal.cancel, Some(RawJsonRpcId::Number(7)));
        let update = serde_json::to_value(withdrawal.update).unwrap();
        assert_eq!(update["status"], "completed");
        assert_eq!(update["content"][0]["content"]["text"], "approved by user");
        // The editor's answer comes too late.
        assert_eq!(all.answer(&RawJsonRpcId::Number(7), None), None);
        assert_eq!(all.update(&request), None);
    }

    #[test]
    fn question_without_a_decision_is_asked_again_with_the_next_prompt() {
        let request = request(RequestKind::Plan);
        let plan = EditorPlan::default();
        let translator = UpdateTranslator::new(Path::new("/p"), false, plan);
        for answer in [
            None,
            Some(json!({ "outcome": { "outcome": "cancelled" } })),
            Some(json!(5)),
        ] {
            let all = &mut requests(false);
            asked(all, &request);
            let answer = all.answer(&RawJsonRpcId::Number(7), answer);
            assert_eq!(answer, Some(EditorAnswer::Later));
            assert!(all.next_question(&translator).is_none());
            all.ask_again();
            assert!(all.next_question(&translator).is_some());
        }
        // A decision that the crew rejects is asked again at once.
        let all = &mut requests(false);
        asked(all, &request);
        assert!(matches!(chosen(all, "allow"), EditorAnswer::Decision(..)));
        all.decided(&request.id, CommandId(3));
        assert!(all.next_question(&translator).is_none());
        assert!(!all.rejected(CommandId(2)));
        assert!(all.rejected(CommandId(3)));
        assert!(all.next_question(&translator).is_some());
    }
}
