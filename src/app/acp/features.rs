//! The optional features of the editor that crewdeck uses.

use agent_client_protocol::v1::schema::{ClientCapabilities, ElicitationCapabilities};

/// The optional features of the editor that crewdeck uses. All are off until the editor has sent its capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorFeatures {
    /// Whether the editor shows notices, which are not part of the conversation.
    pub has_notices: bool,
    /// Whether the editor shows forms in which the user can answer a question.
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
