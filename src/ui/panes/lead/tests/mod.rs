//! Tests of the conversation, the composer and the setup page.

mod answering;
mod attach;
mod complete;
mod conversation;
mod deciding;
mod drafts;
mod offers;
mod onboarding;
mod pictures;
