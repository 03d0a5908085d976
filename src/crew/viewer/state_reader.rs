//! Reads the shared state of a crew for a viewer, part by part, and returns what has changed since the last read as events.

use std::collections::HashMap;
use std::sync::Arc;

use crate::crew::watcher::RECENT_MESSAGES_MAX;
use crate::domain::graph::{BoardDelta, TaskGraph};
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::request::{Request, RequestStatus};
use crate::domain::team::Team;
use crate::protocol::event::{BoardEvent, DeliveryState, EventKind, NoticeLevel, TeamEvent};
use crate::store::watch::Dirty;
use crate::store::{Board, Mailbox, Requests, Roster, StoreError, Stores, TaskSet};

/// The shared state as a viewer has last read it. All methods that read block.
pub struct StateReader {
    board: Board,
    mailbox: Mailbox,
    requests: Requests,
    roster: Roster,
    graph: TaskGraph,
    /// `None` before the first read.
    team: Option<Arc<Team>>,
    statuses: HashMap<RequestId, RequestStatus>,
    /// The delivery states of the newest messages.
    messages: HashMap<MessageId, DeliveryState>,
}

impl StateReader {
    /// Creates a reader that has read nothing yet.
    pub fn new(stores: &Stores) -> StateReader {
        StateReader {
            board: stores.board.clone(),
            mailbox: stores.mailbox.clone(),
            requests: stores.requests.clone(),
            roster: stores.roster.clone(),
            graph: TaskGraph::default(),
            team: None,
            statuses: HashMap::new(),
            messages: HashMap::new(),
        }
    }

    /// Returns the parts of the state that this type reads.
    pub fn parts() -> [Dirty; 4] {
        [
            Dirty::Board(TaskSet::All),
            Dirty::Roster,
            Dirty::Requests,
            Dirty::Mail,
        ]
    }

    /// Returns the team of the last read; an empty one before.
    pub fn team(&self) -> Arc<Team> {
        self.team.clone().unwrap_or_default()
    }

    /// Returns whether the message is among the newest ones of the last read.
    pub fn knows_message(&self, id: &MessageId) -> bool {
        self.messages.contains_key(id)
    }

    /// Reads a part of the state, and returns the changes since its last read as events. The first read of a part returns all
    /// of it, except requests that are decided and messages older than the newest 500. Returns nothing for branches and
    /// skills.
    ///
    /// # Errors
    /// When the part cannot be read. Its next read then returns the changes.
    pub fn read(&mut self, part: &Dirty) -> Result<Vec<EventKind>, StoreError> {
        match part {
            Dirty::Board(which) => self.read_board(which),
            Dirty::Roster => self.read_team(),
            Dirty::Requests => self.read_requests(),
            Dirty::Mail => self.read_messages(),
            Dirty::Branches | Dirty::Skills => Ok(Vec::new()),
        }
    }

    fn read_board(&mut self, which: &TaskSet) -> Result<Vec<EventKind>, StoreError> {
        let news = self.board.update_since(which, &self.graph)?;
        self.graph.apply(&news.delta.changed, &news.delta.removed);
        let mut events = warnings(news.notices);
        events.extend(
            news.delta
                .pieces()
                .into_iter()
                .map(|BoardDelta { changed, removed }| {
                    EventKind::Board(BoardEvent::BoardChanged { changed, removed })
                }),
        );
        Ok(events)
    }

    fn read_team(&mut self) -> Result<Vec<EventKind>, StoreError> {
        let team = self.roster.read()?;
        let mut events = warnings(self.roster.take_notices());
        let has_changed = match &self.team {
            Some(known) => known.differs_from(&team),
            None => true,
        };
        if has_changed {
            let team = Arc::new(team);
            self.team = Some(Arc::clone(&team));
            events.push(EventKind::Team(TeamEvent::RosterChanged { team }));
        }
        Ok(events)
    }

    fn read_requests(&mut self) -> Result<Vec<EventKind>, StoreError> {
        let reading = self.requests.read_all()?;
        let mut events = warnings(reading.notices);
        let mut statuses = HashMap::new();
        for request in reading.requests {
            let before = self.statuses.get(&request.id).copied();
            statuses.insert(request.id.clone(), request.status);
            if is_news(&request, before) {
                events.push(EventKind::Team(TeamEvent::RequestChanged { request }));
            }
        }
        self.statuses = statuses;
        Ok(events)
    }

    fn read_messages(&mut self) -> Result<Vec<EventKind>, StoreError> {
        let recent = self.mailbox.recent(RECENT_MESSAGES_MAX)?;
        let mut events = warnings(recent.notices);
        let mut messages = HashMap::new();
        for (message, step) in recent.messages {
            let before = self.messages.get(&message.id).copied();
            messages.insert(message.id.clone(), step);
            if before != Some(step) {
                events.push(EventKind::Team(TeamEvent::MessageMoved { message, step }));
            }
        }
        self.messages = messages;
        Ok(events)
    }
}

/// Returns whether a viewer must show the request. One that was never shown as pending is decided elsewhere.
fn is_news(request: &Request, before: Option<RequestStatus>) -> bool {
    match before {
        Some(before) => before != request.status,
        None => request.is_pending(),
    }
}

fn warnings(notices: Vec<String>) -> Vec<EventKind> {
    let warning = |text| EventKind::notice(NoticeLevel::Warn, text);
    notices.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::crew::message_delivery::from_user;
    use crate::domain::graph::NewTask;
    use crate::domain::ids::Name;
    use crate::domain::request::{Decision, RequestKind, Verdict};
    use crate::domain::team::Member;
    use crate::domain::timestamp::Timestamp;
    use crate::store::prepare;

    fn bob() -> Name {
        Name::member("bob").unwrap()
    }

    struct ReaderFixture {
        _dir: tempfile::TempDir,
        stores: Stores,
        reader: StateReader,
    }

    fn fixture() -> ReaderFixture {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        let stores = Stores::open(dir.path());
        let reader = StateReader::new(&stores);
        ReaderFixture {
            _dir: dir,
            stores,
            reader,
        }
    }

    impl ReaderFixture {
        /// Returns the subjects of the tasks in the next changes of the board.
        fn subjects(&mut self) -> Vec<String> {
            let events = self.reader.read(&Dirty::Board(TaskSet::All)).unwrap();
            let changed = events.iter().flat_map(|event| match event {
                EventKind::Board(BoardEvent::BoardChanged { changed, .. }) => changed.clone(),
                other => panic!("{other:?}"),
            });
            changed.map(|task| task.subject.clone()).collect()
        }

        fn statuses(&mut self) -> Vec<RequestStatus> {
            let events = self.reader.read(&Dirty::Requests).unwrap();
            let status = |event: &EventKind| match event {
                EventKind::Team(TeamEvent::RequestChanged { request }) => request.status,
                other => panic!("{other:?}"),
            };
            events.iter().map(status).collect()
        }
    }

    fn new_task(subject: &str) -> NewTask {
        NewTask {
            subject: subject.into(),
            ..NewTask::default()
        }
    }

    #[test]
    fn board_is_read_whole_once_and_then_by_change() {
        let mut fixture = fixture();
        let board = fixture.stores.board.clone();
        for subject in ["one", "two"] {
            board.create(new_task(subject), Timestamp(1.0)).unwrap();
        }
        assert_eq!(fixture.subjects(), ["one", "two"]);
        assert_eq!(fixture.subjects(), [""; 0]);
        board.create(new_task("three"), Timestamp(2.0)).unwrap();
        assert_eq!(fixture.subjects(), ["three"]);
    }

    #[test]
    fn decision_is_shown_only_for_a_request_that_was_shown_as_pending() {
        let mut fixture = fixture();
        let requests = fixture.stores.requests.clone();
        let file = |id: &str| {
            let id = RequestId(id.into());
            let plan = Request::new(
                id,
                RequestKind::Plan,
                bob(),
                bob(),
                "1".into(),
                Timestamp(1.0),
            );
            requests.create(&plan).unwrap();
            plan
        };
        let approve = |request: &Request| {
            let user = Name::user();
            let decision = Decision::on(request, Verdict::Approve, user, String::new());
            requests.decide(&decision, Timestamp(2.0)).unwrap();
        };
        let (early, late) = (file("r1"), file("r2"));
        approve(&early);
        assert_eq!(fixture.statuses(), [RequestStatus::Pending]);
        assert_eq!(fixture.statuses(), []);
        approve(&late);
        assert_eq!(fixture.statuses(), [RequestStatus::Approved]);
    }

    #[test]
    fn team_and_messages_are_shown_again_only_after_a_change() {
        let mut fixture = fixture();
        let roster = fixture.stores.roster.clone();
        assert_eq!(fixture.reader.read(&Dirty::Roster).unwrap().len(), 1);
        assert_eq!(fixture.reader.read(&Dirty::Roster).unwrap(), []);
        roster.add_member(Member::new(bob(), "coder"), 16).unwrap();
        assert_eq!(fixture.reader.read(&Dirty::Roster).unwrap().len(), 1);
        assert_eq!(fixture.reader.team().members[0].name, bob());

        let message = from_user(&bob(), "hello", "m1".into(), Timestamp(1.0));
        fixture.stores.mailbox.send(&message).unwrap();
        let step = DeliveryState::Sent;
        let moved = EventKind::Team(TeamEvent::MessageMoved { message, step });
        assert_eq!(fixture.reader.read(&Dirty::Mail).unwrap(), [moved]);
        assert_eq!(fixture.reader.read(&Dirty::Mail).unwrap(), []);
    }
}
