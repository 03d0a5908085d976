//! Passes each message of a program to the session that the message concerns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::route::SessionRoute;
use super::types::AskedPermission;
use super::update::id;

/// Maximum number of updates that wait for their session to be opened.
const EARLY_MAX: usize = 64;
/// Maximum size, in bytes, of an update that waits for its session to be opened.
const EARLY_BYTES_MAX: usize = 64 * 1024;

/// The sessions of one program.
#[derive(Default)]
pub struct RouteTable {
    inner: Mutex<RouteMap>,
}

#[derive(Default)]
struct RouteMap {
    sessions: HashMap<String, Arc<SessionRoute>>,
    /// Number of requests for a new session that are not answered yet.
    opening: usize,
    /// Updates of unknown sessions that arrived while a new session was requested, oldest first.
    early: VecDeque<(String, Value)>,
    /// Whether a message for an unknown session was logged. It is logged once.
    has_logged_unknown: bool,
}

/// A permission request that a session decides.
pub struct RoutedRequest {
    pub route: Arc<SessionRoute>,
    pub request: AskedPermission,
    pub options: Vec<Value>,
    /// Is cancelled when the turn is cancelled or the program has ended.
    pub cancel: CancellationToken,
}

impl RouteTable {
    fn lock(&self) -> MutexGuard<'_, RouteMap> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the opening of a new session; must be called before the session is requested. Until
    /// [`RouteTable::end_opening`], updates of unknown sessions are stored, because they may belong to the new session.
    pub fn begin_opening(&self) {
        self.lock().opening += 1;
    }

    /// Ends the opening of a session; must be called once for each call of [`RouteTable::begin_opening`]. Adds the
    /// session `route`, delivers the updates that have already arrived for it, and returns true. Returns false, and
    /// adds nothing, if the id of the session is in use, or if `route` is `None` because the request failed.
    pub fn end_opening(&self, route: Option<&Arc<SessionRoute>>) -> bool {
        let mut map = self.lock();
        map.opening = map.opening.saturating_sub(1);
        let is_added = route.is_some_and(|route| map.add(route));
        let early = match route {
            Some(route) if is_added => {
                let (mine, others) = std::mem::take(&mut map.early)
                    .into_iter()
                    .partition(|(session, _)| *session == route.id);
                map.early = others;
                mine
            }
            _ => VecDeque::new(),
        };
        if map.opening == 0 {
            map.early.clear();
        }
        drop(map);
        for (_, update) in early {
            if let Some(route) = &route {
                route.update(&update);
            }
        }
        is_added
    }

    /// Adds a session that is being loaded, whose id is therefore already known. Returns false, and adds nothing, if
    /// the id is in use.
    pub fn add(&self, route: &Arc<SessionRoute>) -> bool {
        self.lock().add(route)
    }

    pub fn remove(&self, session: &str) {
        self.lock().sessions.remove(session);
    }

    /// Returns whether a turn of any session runs.
    pub fn has_turn(&self) -> bool {
        self.lock().sessions.values().any(|route| route.is_busy())
    }

    /// Removes all sessions and ends their turns.
    pub fn end_all(&self) {
        let sessions = std::mem::take(&mut self.lock().sessions);
        for route in sessions.into_values() {
            route.end();
        }
    }

    /// Processes the parameters of a `session/update` notification.
    pub fn update(&self, mut params: Value) {
        let Some(session) = id(&params, "sessionId") else {
            return;
        };
        let Some(update) = params.get_mut("update").map(Value::take) else {
            return;
        };
        let mut map = self.lock();
        if let Some(route) = map.sessions.get(&session).cloned() {
            drop(map);
            route.update(&update);
        } else if map.opening > 0
            && map.early.len() < EARLY_MAX
            && update.to_string().len() <= EARLY_BYTES_MAX
        {
            map.early.push_back((session, update));
        } else {
            map.log_unknown("session/update");
        }
    }

    /// Returns the permission request in the parameters of `session/request_permission`. Returns `None` if the request
    /// cannot be read, if its session is unknown, or if the session runs no turn or a cancelled one. The caller must
    /// then answer with `cancelled`.
    pub fn permission(&self, params: &Value) -> Option<RoutedRequest> {
        let session = id(params, "sessionId");
        let mut map = self.lock();
        let Some(route) = session.and_then(|session| map.sessions.get(&session).cloned()) else {
            map.log_unknown("session/request_permission");
            return None;
        };
        drop(map);
        let options = params.get("options").and_then(Value::as_array)?.clone();
        let (request, cancel) = route.permission(params.get("toolCall")?, &options)?;
        Some(RoutedRequest {
            route,
            request,
            options,
            cancel,
        })
    }
}

impl RouteMap {
    fn add(&mut self, route: &Arc<SessionRoute>) -> bool {
        if self.sessions.contains_key(&route.id) {
            return false;
        }
        self.sessions.insert(route.id.clone(), Arc::clone(route));
        true
    }

    fn log_unknown(&mut self, method: &str) {
        if !std::mem::replace(&mut self.has_logged_unknown, true) {
            tracing::warn!("an external agent sent {method} for an unknown session; it is ignored");
        }
    }
}
