//! The ids of tool calls in the forms that the wire formats accept. A conversation may contain ids from the models of
//! several vendors, and a vendor's server may refuse the ids of another vendor. Does no I/O.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::ids::CallId;

/// Which ids a wire format accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// The form for Anthropic Messages and OpenAI Responses: an id consists of 1 to 64 ASCII letters, digits, `_` and
    /// `-`, and no two calls of a conversation have the same id.
    Strict,
    /// The form for Chat Completions: an id has 1 to 40 bytes, the limit of OpenAI. Ids within this limit are sent
    /// unchanged, because some models read them and expect the form in which they wrote them, such as
    /// `functions.bash:0`.
    Chat,
    /// The form for Mistral: an id consists of exactly nine ASCII letters and digits.
    Mistral,
}

/// Maximum length of an id in [`IdForm::Strict`], in bytes.
const STRICT_MAX: usize = 64;
/// Maximum length of an id in [`IdForm::Chat`], in bytes.
const CHAT_MAX: usize = 40;
const MISTRAL_LENGTH: usize = 9;

impl IdForm {
    fn accepts(self, id: &str) -> bool {
        match self {
            IdForm::Strict => {
                let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
                (1..=STRICT_MAX).contains(&id.len()) && id.bytes().all(is_allowed)
            }
            IdForm::Chat => (1..=CHAT_MAX).contains(&id.len()),
            IdForm::Mistral => {
                id.len() == MISTRAL_LENGTH && id.bytes().all(|b| b.is_ascii_alphanumeric())
            }
        }
    }

    /// Returns an id of this form that is derived from `id` and `repeat`. Equal arguments always give the same id.
    /// `repeat` is 0 at first; higher values give other ids if that id is already used.
    fn replacement(self, id: &str, repeat: usize) -> String {
        let mut hash = DefaultHasher::new();
        id.hash(&mut hash);
        if repeat > 0 {
            repeat.hash(&mut hash);
        }
        let digits = format!("{:016x}", hash.finish());
        match self {
            IdForm::Strict | IdForm::Chat => format!("call_{digits}"),
            // 36 bits are enough to tell the calls of a conversation apart.
            IdForm::Mistral => digits[..MISTRAL_LENGTH].to_string(),
        }
    }
}

/// Chooses the ids with which tool calls and their results are sent in one request. The same conversation always gets
/// the same ids.
#[derive(Debug)]
pub struct SentIds<'a> {
    form: IdForm,
    used: HashSet<String>,
    /// The id that was sent for the last call with a given id. Key: the call's id in the conversation.
    sent: HashMap<&'a CallId, String>,
}

impl<'a> SentIds<'a> {
    pub fn new(form: IdForm) -> SentIds<'a> {
        SentIds {
            form,
            used: HashSet::new(),
            sent: HashMap::new(),
        }
    }

    /// Returns the id to send for the next tool call of the conversation. `id` is the call's id in the conversation.
    /// Must be called once for each tool call, in the order of the conversation.
    pub fn call(&mut self, id: &'a CallId) -> String {
        let mut chosen = if self.form.accepts(&id.0) {
            id.0.clone()
        } else {
            self.form.replacement(&id.0, 0)
        };
        // Some servers count the calls of each answer from 0, so that their ids repeat.
        if self.form == IdForm::Strict {
            let mut repeat = 0;
            while !self.used.insert(chosen.clone()) {
                repeat += 1;
                chosen = self.form.replacement(&id.0, repeat);
            }
        }
        self.sent.insert(id, chosen.clone());
        chosen
    }

    /// Returns the id to send with the result of the call `id`. It is the id that was sent for the last call with this
    /// id, or `id` itself if there is no such call.
    pub fn result(&self, id: &CallId) -> String {
        let sent = self.sent.get(id).cloned();
        sent.unwrap_or_else(|| id.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &[&str] = &[
        "toolu_01A09q90qw90lq917835lq9",
        "functions.bash:0",
        "chatcmpl-tool-0123456789abcdef0123456789abcdef",
        "aB3dE6gH9",
        "call_é",
    ];

    #[test]
    fn every_form_gets_ids_that_it_accepts() {
        for form in [IdForm::Strict, IdForm::Chat, IdForm::Mistral] {
            let long = "x".repeat(128);
            let calls: Vec<CallId> = IDS
                .iter()
                .chain([&long.as_str()])
                .map(|id| CallId((*id).into()))
                .collect();
            let mut ids = SentIds::new(form);
            let mut seen = HashSet::new();
            for call in &calls {
                let sent = ids.call(call);
                assert!(form.accepts(&sent), "{form:?}: {call} became {sent}");
                assert_eq!(sent == call.0, form.accepts(&call.0), "{form:?}: {call}");
                assert_eq!(ids.result(call), sent);
                assert_eq!(SentIds::new(form).call(call), sent, "the same every time");
                assert!(seen.insert(sent), "{form:?}: {call}");
            }
        }
    }

    #[test]
    fn chat_keeps_ids_that_models_read() {
        let call = CallId("functions.bash:0".into());
        assert_eq!(SentIds::new(IdForm::Chat).call(&call), call.0);
    }

    #[test]
    fn repeated_ids_differ_where_they_must() {
        let call = CallId("call_0".into());
        let mut ids = SentIds::new(IdForm::Strict);
        let first = ids.call(&call);
        assert_eq!(
            (first.as_str(), ids.result(&call)),
            ("call_0", first.clone())
        );
        let second = ids.call(&call);
        assert!(
            second != first && IdForm::Strict.accepts(&second),
            "{second}"
        );
        assert_eq!(ids.result(&call), second);
        assert!(![first, second].contains(&ids.call(&call)));
        let mut ids = SentIds::new(IdForm::Chat);
        assert_eq!(ids.call(&call), ids.call(&call));
    }
}
