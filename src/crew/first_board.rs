//! Publishes the session information and the board, the first events of a crew.

use crate::agent::driver::run_blocking;
use crate::domain::graph::{BoardDelta, TaskGraph};
use crate::protocol::EventSender;
use crate::protocol::event::{BoardEvent, CrewEvent, EventKind, NoticeLevel, SessionInfo};
use crate::store::{Board, Stores, TaskSet};

/// The board that [`publish_session`] has published.
pub struct PublishedBoard {
    /// The board, which has already reported the problems of its files.
    pub(super) board: Board,
    /// The published tasks; none if the board could not be read.
    pub(super) graph: TaskGraph,
}

/// Publishes the session information and the board, so that the screen shows both before the
/// slower steps of a crew's start.
pub async fn publish_session(
    stores: &Stores,
    setup: &SessionInfo,
    event_sender: &EventSender,
) -> PublishedBoard {
    event_sender
        .publish(EventKind::Crew(CrewEvent::Ready(setup.clone())))
        .await;
    let board = stores.board.clone();
    let reader = board.clone();
    let looked =
        run_blocking(move || reader.update_since(&TaskSet::All, &TaskGraph::default())).await;
    let mut graph = TaskGraph::default();
    // If the board cannot be read, the watcher reports the error later.
    if let Ok(news) = looked {
        graph.apply(&news.delta.changed, &news.delta.removed);
        for text in news.notices {
            event_sender
                .publish(EventKind::notice(NoticeLevel::Warn, text))
                .await;
        }
        for BoardDelta { changed, removed } in news.delta.pieces() {
            event_sender
                .publish(EventKind::Board(BoardEvent::BoardChanged {
                    changed,
                    removed,
                }))
                .await;
        }
    }
    PublishedBoard { board, graph }
}
