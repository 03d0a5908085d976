//! Reads the fields of one MCP server that are more than a text: time-outs, tables and the client of its login.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::super::json::{format_line, text};
use super::super::variables;
use super::{ServerEntry, quote};
use crate::domain::mcp::OAuthClient;

/// Minimum time-out of a server's calls and start, in milliseconds. A shorter one is ignored, as in Claude Code.
pub(super) const TIMEOUT_MIN_MS: u64 = 1000;
/// Maximum time-out of a server's calls and start. A longer one is reduced to this.
const TIMEOUT_MAX: Duration = Duration::from_hours(24);
/// The fields of `oauth` that crewdeck uses. Other fields are ignored with a warning.
const OAUTH_FIELDS: &[&str] = &["clientId", "clientSecret", "callbackPort"];

impl ServerEntry<'_> {
    /// Returns the time-out in a field that contains milliseconds; `None` if the field is missing. If the time-out is
    /// shorter than `TIMEOUT_MIN_MS`, adds a warning and returns `None`.
    ///
    /// # Errors
    /// Fails if the field is not a number.
    pub(super) fn timeout(
        &mut self,
        fields: &Map<String, Value>,
        field: &str,
    ) -> Result<Option<Duration>, String> {
        let Some(value) = fields.get(field).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let ms = value
            .as_u64()
            .or_else(|| value.as_f64().filter(|ms| *ms >= 0.0).map(saturating_ms))
            .ok_or(format!("{field} must be a number of milliseconds"))?;
        let timeout = timeout_of(ms);
        if timeout.is_none() {
            self.warnings.push(format!(
                "{field} is {ms} ms and is ignored: give at least {TIMEOUT_MIN_MS} ms"
            ));
        }
        Ok(timeout)
    }

    pub(super) fn oauth(
        &mut self,
        fields: &Map<String, Value>,
        is_http: bool,
    ) -> Result<OAuthClient, String> {
        let Some(value) = fields.get("oauth").filter(|value| !value.is_null()) else {
            return Ok(OAuthClient::default());
        };
        let table = value.as_object().ok_or("oauth must be an object")?;
        if !is_http {
            self.warnings
                .push("oauth is ignored: only servers over HTTP have a login".into());
            return Ok(OAuthClient::default());
        }
        let mut unused = table.keys().filter(|n| !OAUTH_FIELDS.contains(&n.as_str()));
        if let Some(name) = unused.next() {
            self.warnings.push(format!(
                "oauth.{} is ignored: crewdeck uses {}, and asks the server for the rest",
                format_line(name),
                OAUTH_FIELDS.join(", ")
            ));
        }
        let id = text(table, "clientId")?;
        let id = id.map(|id| self.expand("oauth.clientId", id)).transpose()?;
        if id.as_ref().is_some_and(|id| id.trim().is_empty()) {
            return Err("oauth.clientId is empty: give the id of a registered client".into());
        }
        let secret = text(table, "clientSecret")?;
        let secret = secret.map(|secret| self.expand("oauth.clientSecret", secret));
        let secret = secret.transpose()?;
        if secret.as_ref().is_some_and(String::is_empty) {
            return Err("oauth.clientSecret is empty: give the secret of the client".into());
        }
        if secret.is_some() && id.is_none() {
            return Err("oauth.clientSecret needs oauth.clientId, the id of its client".into());
        }
        let callback_port = match table.get("callbackPort").filter(|value| !value.is_null()) {
            None => None,
            Some(value) => Some(
                value
                    .as_u64()
                    .and_then(|port| u16::try_from(port).ok())
                    .filter(|port| *port > 0)
                    .ok_or("oauth.callbackPort must be a port from 1 to 65535")?,
            ),
        };
        Ok(OAuthClient {
            id,
            secret,
            callback_port,
        })
    }

    /// Returns the entries of the object of strings in `field`, with environment variables replaced by their values.
    /// Also returns a text with all entries as they are written in the file; `None` if there are no entries.
    ///
    /// # Errors
    /// Fails if `field` is not an object of strings, if an entry contains a NUL character, or if an entry is too long
    /// after its variables were replaced.
    pub(super) fn table(
        &mut self,
        fields: &Map<String, Value>,
        field: &str,
    ) -> Result<(BTreeMap<String, String>, Option<String>), String> {
        let mut out = BTreeMap::new();
        let Some(value) = fields.get(field).filter(|value| !value.is_null()) else {
            return Ok((out, None));
        };
        let table = value
            .as_object()
            .ok_or(format!("{field} must be an object of strings"))?;
        let mut written = Vec::new();
        for (name, value) in table {
            let full = format!("{field}.{}", format_line(name));
            let text = value
                .as_str()
                .ok_or(format!("{full} must be a string: put it in quotes"))?;
            if name.contains('\0') {
                return Err(format!("{full} contains a NUL character"));
            }
            written.push(format!("{name}={}", quote(text)));
            out.insert(name.clone(), self.expand(&full, text)?);
        }
        Ok((out, (!written.is_empty()).then(|| written.join(" "))))
    }

    pub(super) fn expand(&mut self, field: &str, text: &str) -> Result<String, String> {
        let found = variables::expand(text, self.lookup).map_err(|why| format!("{field} {why}"))?;
        if found.text.contains('\0') {
            return Err(format!("{field} contains a NUL character"));
        }
        self.is_withheld |= found.is_withheld;
        for name in found.unset {
            let warning = format!(
                "{field} names the variable {name}, which is not set: set it, or write ${{{name}:-default}}"
            );
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(found.text)
    }
}

/// Returns a time-out of `ms` milliseconds, at most `TIMEOUT_MAX`; `None` if `ms` is below [`TIMEOUT_MIN_MS`].
pub(super) fn timeout_of(ms: u64) -> Option<Duration> {
    (ms >= TIMEOUT_MIN_MS).then(|| Duration::from_millis(ms).min(TIMEOUT_MAX))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates, and the value is not negative
fn saturating_ms(ms: f64) -> u64 {
    ms as u64
}
