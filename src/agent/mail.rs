//! Formats messages for the model, and recognises approved shutdown requests.

use serde_json::{Map, Value};

use crate::domain::chat::Block;
use crate::domain::ids::Name;
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::request::{Request, RequestKind, RequestStatus};

/// Returns the messages as one text block: `<inbox>` with a JSON array, as in learn-claude-code.
pub fn block(messages: &[MailMessage]) -> Block {
    let list: Vec<Value> = messages.iter().map(plain).collect();
    let json = serde_json::to_string_pretty(&list).unwrap_or_default();
    Block::text(format!("<inbox>\n{json}\n</inbox>"))
}

/// Returns the fields of a message that the model needs: sender, type, content, and the fields about a request, if
/// there are any. Leaves out the message's id and time.
fn plain(message: &MailMessage) -> Value {
    let mut out = Map::new();
    out.insert("from".into(), message.from.clone().into());
    out.insert("type".into(), message.kind.to_string().into());
    out.insert("content".into(), message.content.clone().into());
    for key in ["request_id", "approve", "comment", "plan"] {
        if let Some(value) = message.extra.get(key) {
            out.insert(key.into(), value.clone());
        }
    }
    Value::Object(out)
}

/// Returns whether `message` asks `to` to shut down and `request` is the matching approved request (guarantee 7 of
/// docs/GUARANTEES.md). The message alone proves nothing, because any program can write one.
pub fn is_approved_shutdown(message: &MailMessage, to: &Name, request: Option<&Request>) -> bool {
    message.kind == MailKind::ShutdownRequest
        && request.is_some_and(|r| {
            Some(&r.id) == message.request_id().as_ref()
                && r.kind == RequestKind::Shutdown
                && r.status == RequestStatus::Approved
                && r.target.same(to)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{MessageId, RequestId};
    use crate::domain::timestamp::Timestamp;

    #[test]
    fn only_an_approved_request_for_the_recipient_shuts_down() {
        let bob = Name::member("bob").unwrap();
        let alice = Name::member("alice").unwrap();
        let id = RequestId("r1".into());
        let mut message = MailMessage::new(
            MessageId("l1".into()),
            MailKind::ShutdownRequest,
            &alice,
            &bob,
            "go",
            Timestamp(1.0),
        );
        message.extra.insert("request_id".into(), "r1".into());
        let request = |target: &Name, status| {
            let mut r = Request::new(
                id.clone(),
                RequestKind::Shutdown,
                Name::lead(),
                target.clone(),
                String::new(),
                Timestamp(1.0),
            );
            r.status = status;
            r
        };
        let approved = request(&bob, RequestStatus::Approved);
        assert!(is_approved_shutdown(&message, &bob, Some(&approved)));
        for no in [
            None,
            Some(request(&bob, RequestStatus::Pending)),
            Some(request(&bob, RequestStatus::Rejected)),
            Some(request(&alice, RequestStatus::Approved)),
        ] {
            assert!(!is_approved_shutdown(&message, &bob, no.as_ref()), "{no:?}");
        }
    }

    #[test]
    fn inbox_block_names_sender_and_omits_unknown_fields() {
        let message: MailMessage = serde_json::from_str(
            r#"{"id":"x","type":"message","from":"alice","content":"hi","timestamp":5,"odd":1}"#,
        )
        .unwrap();
        let Block::Text { text } = block(&[message]) else {
            panic!()
        };
        assert!(text.starts_with("<inbox>\n[") && text.ends_with("]\n</inbox>"));
        assert!(text.contains("\"from\": \"alice\"") && !text.contains("odd"));
    }
}
