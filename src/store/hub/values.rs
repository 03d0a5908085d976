//! Single values on a hub that are changed by compare-and-set.

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::StoreError;
use super::connection::Hub;
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Stored, Write};
use super::retry::{self, CHANGED_WITHIN};
use super::streams::StreamKind;

/// A value with the revision from which it was read; 0 if it is not stored.
#[derive(Debug, Clone)]
pub(super) struct Versioned<T> {
    pub value: Option<T>,
    pub revision: u64,
}

/// Returns the value of a key. A value without a valid signature counts as not stored.
///
/// # Errors
/// When the hub does not answer, or the value is invalid.
pub(super) fn read<T: DeserializeOwned>(hub: &Hub, key: &str) -> Result<Versioned<T>, StoreError> {
    let wanted = key.to_string();
    let found =
        hub.run(
            |connection| async move { keys::read(&connection, StreamKind::State, &wanted).await },
        )?;
    match found {
        None => Ok(Versioned {
            value: None,
            revision: 0,
        }),
        // A write replaces it.
        Some(stored) if stored.is_unsigned => Ok(Versioned {
            value: None,
            revision: stored.sequence,
        }),
        Some(stored) => {
            let revision = stored.sequence;
            let value = Some(parse(&stored)?);
            Ok(Versioned { value, revision })
        }
    }
}

/// Parses a stored value.
///
/// # Errors
/// When the value is invalid.
pub(super) fn parse<T: DeserializeOwned>(stored: &Stored) -> Result<T, StoreError> {
    serde_json::from_slice(&stored.payload).map_err(|why| {
        let why = format!("{} cannot be read: {why}", stored.key);
        StoreError::Io(std::io::Error::other(why))
    })
}

/// Stores a value if the key still has this revision. Returns the new revision; `None` if the key has another one.
///
/// # Errors
/// When the hub does not answer, or rejects the value.
pub(super) fn write(
    hub: &Hub,
    key: &str,
    value: &impl Serialize,
    revision: u64,
    what: &str,
) -> Result<Option<u64>, StoreError> {
    let payload = serde_json::to_vec(value)?;
    let expected = Expected::Key(revision);
    let write = Write::new(StreamKind::State, key.into(), payload, expected, what);
    Ok(hub.run(|connection| async move { keys::write(&connection, write, ANSWER_WITHIN).await })?)
}

/// Applies `edit` to the value of a key until no other writer has changed it in between. `edit` returns the new value;
/// `None` if nothing is to be stored.
///
/// # Errors
/// When `edit` fails, or the hub does not answer or rejects the value.
pub(super) fn change<T, R>(
    hub: &Hub,
    key: &str,
    what: &'static str,
    mut edit: impl FnMut(Option<T>) -> Result<(Option<T>, R), StoreError>,
) -> Result<R, StoreError>
where
    T: Serialize + DeserializeOwned,
{
    let began = Instant::now();
    for attempt in 0.. {
        let found = read(hub, key)?;
        let (new, result) = edit(found.value)?;
        let Some(new) = new else {
            return Ok(result);
        };
        if write(hub, key, &new, found.revision, what)?.is_some() {
            return Ok(result);
        }
        if began.elapsed() > CHANGED_WITHIN {
            break;
        }
        retry::pause(attempt);
    }
    Err(HubError::Contention { what }.into())
}
