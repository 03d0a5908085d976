//! Tests of the conversation, the composer and the setup page.

mod answering;
mod complete;
mod conversation;
mod drafts;
mod onboarding;
