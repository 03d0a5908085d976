//! The roster on a hub: one key.

use super::super::StoreError;
use super::super::roster_store::{RosterStore, TeamEdit};
use super::connection::Hub;
use super::values;
use crate::domain::team::Team;

const KEY: &str = "team";

#[derive(Debug)]
pub(super) struct HubRoster(pub(super) Hub);

impl RosterStore for HubRoster {
    fn take_notices(&self) -> Vec<String> {
        self.0.take_problems()
    }

    fn read(&self) -> Result<Team, StoreError> {
        Ok(values::read(&self.0, KEY)?.value.unwrap_or_default())
    }

    fn change(&self, edit: &mut TeamEdit<'_>) -> Result<Team, StoreError> {
        values::change(&self.0, KEY, "team", |found: Option<Team>| {
            let mut team = found.unwrap_or_default();
            edit(&mut team)?;
            Ok((Some(team.clone()), team))
        })
    }
}
