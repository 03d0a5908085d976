//! The messages and requests of a process that takes part in a crew as a host.

use std::time::Duration;

use crewdeck::domain::chat::{Block, Message};
use crewdeck::domain::conversation::LogRecord;
use crewdeck::domain::ids::{MessageId, Name, RequestId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{Request, RequestKind};
use crewdeck::store::{HubError, StoreError, TranscriptFile};

use super::host_process::{HEALED, HostProcess, ROLES, STOP};
use super::records::{RecordLine, records_of};
use crate::suite::name;

/// Every how many messages a process makes a request.
const REQUEST_EVERY: usize = 5;
/// Pause between two messages of a process.
const SEND_PAUSE: Duration = Duration::from_millis(150);

impl HostProcess {
    /// Sends messages to all other processes in turn, and makes requests.
    pub fn send(&self) {
        let sent = |line: &RecordLine| line.event == "sent";
        let earlier = records_of(&self.root, &self.role);
        let mut number = earlier.iter().filter(|line| sent(line)).count();
        let own = ROLES.iter().position(|role| *role == self.role).unwrap();
        let from = name(&self.role);
        while !self.has(HEALED) && !self.has(STOP) {
            let to = ROLES[(own + 1 + number % (ROLES.len() - 1)) % ROLES.len()];
            let text = format!("[{}-{number}]", self.role);
            let id = MessageId(format!("{}-{number}", self.role));
            let kind = MailKind::Message;
            let message = MailMessage::new(id, kind, &from, &name(to), &text, self.now());
            if self
                .until_answered(|| self.stores.mailbox.send(&message))
                .is_none()
            {
                return;
            }
            self.record("sent", &[&text, to]);
            if number.is_multiple_of(REQUEST_EVERY) {
                self.ask(number, &from);
            }
            number += 1;
            std::thread::sleep(SEND_PAUSE);
        }
        self.record("all-sent", &[]);
    }

    fn ask(&self, number: usize, from: &Name) {
        let id = RequestId(format!("{}-{number}", self.role));
        let (kind, body) = (RequestKind::Plan, "the plan".to_string());
        let asker = from.clone();
        let request = Request::new(id, kind, asker.clone(), asker, body, self.now());
        let created = self.until_answered(|| match self.stores.requests.create(&request) {
            // The answer to an earlier attempt was lost.
            Err(StoreError::Hub(HubError::RequestExists(_))) => Ok(()),
            result => result,
        });
        if created.is_some() {
            self.record("asked", &[&request.id.0]);
        }
    }

    /// Reads the inbox, and writes each message to the log once.
    pub fn read(&self) {
        let own = name(&self.role);
        let log = TranscriptFile::open(&self.root, "session", &own);
        while !self.has(STOP) {
            self.until_answered(|| {
                let reader = self
                    .stores
                    .mailbox
                    .reader(&own, Duration::from_millis(200))?;
                while reader.is_valid() && !self.has(STOP) {
                    let pending = reader.read_pending()?;
                    if pending.messages.is_empty() {
                        std::thread::sleep(SEND_PAUSE);
                        continue;
                    }
                    reader.announce(&log, &pending.upto)?;
                    let texts: Vec<&str> = pending
                        .messages
                        .iter()
                        .map(|m| m.content.as_str())
                        .collect();
                    log.append(&LogRecord::Delivery {
                        message: Message::user(vec![Block::text(texts.join(" "))]),
                        inbox: Some(pending.upto.offset),
                        ended: Vec::new(),
                        prompts: Vec::new(),
                    })?;
                    reader.acknowledge(&pending.upto)?;
                }
                Ok(())
            });
        }
    }
}
