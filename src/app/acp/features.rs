//! What the editor can show, as far as crewdeck uses it.

use agent_client_protocol::v1::schema::{ClientCapabilities, ElicitationCapabilities};

/// What the editor can show. Nothing before it has said so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorFeatures {
    /// Notices, which are no part of the conversation.
    pub has_notices: bool,
    /// Forms, in which the user answers a question.
    pub has_forms: bool,
}

impl EditorFeatures {
    /// Returns the features that the editor's capabilities name.
    pub fn of(capabilities: &ClientCapabilities) -> EditorFeatures {
        let session = capabilities.session.as_ref();
        let forms = capabilities.elicitation.as_ref();
        EditorFeatures {
            has_notices: session.is_some_and(|session| session.notices.is_some()),
            has_forms: forms.is_some_and(ElicitationCapabilities::supports_form),
        }
    }
}
