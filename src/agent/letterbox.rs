//! The driver and its letters: taken before each call, acknowledged when they are on disk.

use std::sync::Arc;
use std::time::Duration;

use super::driver::{Driver, Log, blocking};
use super::mail;
use crate::domain::chat::Block;
use crate::domain::ids::Name;
use crate::domain::mail::{Letter, LetterKind};
use crate::protocol::event::{EventKind, LetterStep, Level};
use crate::store::{Pending, Post, Reader, StoreError};

/// How long an agent waits for another program that takes its letters: as long as `crewdeck mail read` needs many times
/// over. Then they are left for the next look.
const READER_WAIT: Duration = Duration::from_secs(1);

impl Driver {
    /// Takes the prompts and letters that wait. They are acknowledged when the message that holds them is saved.
    pub async fn gather_mail(&mut self) -> Vec<Block> {
        let prompts = self.prompts.as_ref().map(|queue| queue.take());
        let prompts = prompts.unwrap_or_default();
        let mut blocks: Vec<Block> = prompts.iter().map(|p| Block::text(&p.text)).collect();
        self.state.prompts.extend(prompts);
        if let Some(notes) = self.workshop.desk.take_notes() {
            blocks.push(notes);
        }
        if let Some(results) = self.workshop.desk.take_results() {
            blocks.push(results.block);
            self.state.told.extend(results.jobs);
            for (what, text) in results.lines {
                let agent = self.name.clone();
                self.publish(EventKind::Injected { agent, what, text })
                    .await;
            }
        }
        let Some(post) = self.post.clone() else {
            return blocks;
        };
        // What was taken and not yet saved would come again: the turn was interrupted in between.
        if self.state.taken.is_none() && self.state.owed.is_none() {
            match self.take_letters(&post).await {
                Ok(pending) => {
                    for notice in pending.notices() {
                        self.publish(EventKind::notice(Level::Warn, notice)).await;
                    }
                    if !pending.letters.is_empty() {
                        self.look_for_shutdown(&pending.letters).await;
                        blocks.push(mail::block(&pending.letters));
                        self.state.letters = pending.letters;
                        self.state.taken = Some(pending.upto);
                    }
                }
                Err(error) => self.trouble("The inbox can not be read", &error).await,
            }
        }
        blocks
    }

    /// The letters that wait. Where there are some, nobody else gets them until they are acknowledged.
    async fn take_letters(&self, post: &Post) -> Result<Pending, StoreError> {
        let (post, name) = (post.clone(), self.name.clone());
        let (reader, pending) = blocking(move || {
            // Most looks find nothing: they need no lock.
            let seen = post.look(&name)?;
            if !seen.is_due() {
                return Ok((None, seen));
            }
            let reader = post.reader(&name, READER_WAIT)?;
            let pending = reader.pending()?;
            Ok((Some(Arc::new(reader)), pending))
        })
        .await?;
        if let Some(reader) = reader.filter(|_| !pending.letters.is_empty()) {
            self.workshop.desk.keep_reader(reader);
        }
        Ok(pending)
    }

    /// The right to take letters that the agent has, or gets now.
    async fn reader(&self, post: Post) -> Result<Arc<Reader>, StoreError> {
        if let Some(reader) = self.workshop.desk.reader() {
            return Ok(reader);
        }
        let name = self.name.clone();
        blocking(move || post.reader(&name, READER_WAIT).map(Arc::new)).await
    }

    /// Before the message with letters is written: where they stand from then on.
    pub(super) async fn announce(&self) {
        let (Some(reader), Some(cursor)) = (self.workshop.desk.reader(), self.state.taken) else {
            return;
        };
        let log = self.transcript.clone();
        // Where this fails, the log itself says it when its agent comes back.
        let _ = blocking(move || reader.announce(&log, &cursor)).await;
    }

    /// Takes an approved shutdown request out of the mail when nothing else waits there: to go needs no
    /// model. True when it did.
    pub async fn take_shutdown(&mut self) -> bool {
        let Some(post) = self.post.clone() else {
            return false;
        };
        if self.state.taken.is_some() || self.state.owed.is_some() {
            return false;
        }
        let Ok(pending) = self.take_letters(&post).await else {
            return false;
        };
        self.look_for_shutdown(&pending.letters).await;
        let only_that = pending
            .letters
            .iter()
            .all(|l| l.kind == LetterKind::ShutdownRequest);
        if self.state.asked_to_go.is_none() || !only_that {
            self.workshop.desk.drop_reader();
            return false;
        }
        self.state.letters = pending.letters;
        self.state.owed = Some(pending.upto);
        // With the log: letters that can not be acknowledged must not bring it back here again and again.
        self.catch_up().await;
        true
    }

    async fn look_for_shutdown(&mut self, letters: &[Letter]) {
        for letter in letters
            .iter()
            .filter(|l| l.kind == LetterKind::ShutdownRequest)
        {
            let Some(id) = letter.request_id() else {
                continue;
            };
            let requests = self.requests.clone();
            let request = blocking(move || requests.get(&id)).await.ok().flatten();
            if mail::is_approved_shutdown(letter, &self.name, request.as_ref()) {
                self.state.asked_to_go = Some(letter.clone());
            }
        }
    }

    /// Acknowledges the letters of messages that are on disk; what fails is tried again at the next step.
    pub(super) async fn acknowledge(&mut self) {
        if self.state.log == Log::Behind {
            return;
        }
        let (Some(post), Some(cursor)) = (self.post.clone(), self.state.owed.take()) else {
            return;
        };
        let done = match self.reader(post).await {
            Ok(reader) => blocking(move || reader.acknowledge(&cursor)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            self.trouble("The inbox can not be written", &error).await;
            self.state.owed = Some(cursor);
            return;
        }
        self.workshop.desk.drop_reader();
        for letter in self.state.letters.drain(..) {
            let step = LetterStep::Delivered;
            self.publisher
                .publish(EventKind::LetterMoved {
                    letter: letter.clone(),
                    step,
                })
                .await;
            self.publisher.publish(entry(&self.name, &letter)).await;
            self.state.unanswered.push(letter);
        }
    }
}

/// What the conversation of `agent` shows of a message that entered it.
fn entry(agent: &Name, letter: &Letter) -> EventKind {
    let (agent, text) = (agent.clone(), letter.content.clone());
    let is_users = letter.from == Name::user().as_str() && letter.kind == LetterKind::Message;
    // The user prompts the lead directly: what only claims to be the user's stays a message there.
    if is_users && !agent.is_lead() {
        return EventKind::Prompted { agent, text };
    }
    let what = match letter.kind {
        LetterKind::Message => format!("message from {}", letter.from),
        _ => format!("message from {} ({})", letter.from, letter.kind),
    };
    EventKind::Injected { agent, what, text }
}
