//! Adds servers to the files that configure MCP servers, and removes them. All other fields of a file keep their values
//! and their order. The whole file is formatted again, with the indentation that it had.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Serializer, Value};

use super::{SERVER_FILE, json, servers};
use crate::config::{save, user_folder};
use crate::domain::text::closest_match;

/// The field of the file that contains the servers.
const SERVERS: &str = "mcpServers";

/// Which file is changed: the user's `mcp.json` or the project's `.mcp.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerScope {
    User,
    Project,
}

/// An MCP server that is to be added to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewServer {
    pub name: String,
    /// The program with its arguments; empty for a server at a URL.
    pub command: Vec<String>,
    pub url: Option<String>,
    pub headers: Vec<(String, String)>,
    pub env: Vec<(String, String)>,
}

impl NewServer {
    fn value(&self) -> Value {
        let table = |entries: &[(String, String)]| -> Value {
            entries
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.clone())))
                .collect::<Map<_, _>>()
                .into()
        };
        let mut out = Map::new();
        match &self.url {
            Some(url) => {
                out.insert("type".into(), "http".into());
                out.insert("url".into(), url.clone().into());
            }
            None => {
                let mut words = self.command.iter().cloned();
                out.insert("command".into(), words.next().unwrap_or_default().into());
                out.insert("args".into(), words.collect::<Vec<_>>().into());
            }
        }
        if !self.headers.is_empty() {
            out.insert("headers".into(), table(&self.headers));
        }
        if !self.env.is_empty() {
            out.insert("env".into(), table(&self.env));
        }
        out.into()
    }
}

/// Adds a server and returns the path of the changed file.
///
/// # Errors
/// Fails if the server is invalid, if the file already has a server of this name, or if the file cannot be read or
/// written. The file is then unchanged.
pub fn add_server(root: &Path, scope: ServerScope, new: &NewServer) -> Result<PathBuf> {
    let value = new.value();
    servers::check(&new.name, &value)
        .map_err(|why| anyhow!("server {}: {why}", json::format_line(&new.name)))?;
    let path = path(root, scope)?;
    let mut file = ServerDocument::read(&path)?;
    let servers = file.servers_mut()?;
    if servers.contains_key(&new.name) {
        bail!(
            "{} already has a server {}: remove it first with crewdeck mcp remove {}",
            path.display(),
            new.name,
            new.name
        );
    }
    servers.insert(new.name.clone(), value);
    file.write(&path)?;
    Ok(path)
}

/// Removes a server and returns the path of the changed file. Without a scope, removes the server from the user's file;
/// if it is not there, removes it from the project's file.
///
/// # Errors
/// Fails if there is no such server, or if a file cannot be read or written.
pub fn remove_server(root: &Path, scope: Option<ServerScope>, name: &str) -> Result<PathBuf> {
    let scopes = match scope {
        Some(scope) => vec![scope],
        None => vec![ServerScope::User, ServerScope::Project],
    };
    let mut known = Vec::new();
    for scope in scopes {
        let path = path(root, scope)?;
        let mut file = ServerDocument::read(&path)?;
        let servers = file.servers_mut()?;
        if servers.shift_remove(name).is_some() {
            file.write(&path)?;
            return Ok(path);
        }
        known.extend(servers.keys().cloned());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(unknown_server(name, &known))
}

/// Returns the error for a server name that is not in `known`. It suggests a similar name if there is one.
pub fn unknown_server(name: &str, known: &[&str]) -> anyhow::Error {
    let shown = json::format_line(name);
    match closest_match(name, known) {
        Some(nearest) => anyhow!("no server is named {shown}: did you mean {nearest}?"),
        None => anyhow!("no server is named {shown}: crewdeck mcp list shows all servers"),
    }
}

fn path(root: &Path, scope: ServerScope) -> Result<PathBuf> {
    match scope {
        ServerScope::Project => Ok(root.join(SERVER_FILE)),
        ServerScope::User => {
            let folder = user_folder().context("no home directory found for mcp.json: set HOME")?;
            Ok(folder.join("mcp.json"))
        }
    }
}

/// The content of a file that configures MCP servers, while it is changed.
struct ServerDocument {
    fields: Map<String, Value>,
    indent: String,
}

impl ServerDocument {
    /// Reads a file that configures MCP servers. The content is empty if the file is missing or blank.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a JSON object.
    fn read(path: &Path) -> Result<ServerDocument> {
        let shown = path.display().to_string();
        let bytes = json::read(path).map_err(|why| anyhow!("{shown} {why}"))?;
        let Some(bytes) = bytes.filter(|bytes| !bytes.trim_ascii().is_empty()) else {
            return Ok(ServerDocument {
                fields: Map::new(),
                indent: "  ".into(),
            });
        };
        Ok(ServerDocument {
            fields: json::parse(&bytes).map_err(|why| anyhow!("{shown}{why}"))?,
            indent: indent(&String::from_utf8_lossy(&bytes)),
        })
    }

    fn servers_mut(&mut self) -> Result<&mut Map<String, Value>> {
        let servers = self
            .fields
            .entry(SERVERS)
            .or_insert_with(|| Map::new().into());
        if servers.is_null() {
            *servers = Map::new().into();
        }
        servers
            .as_object_mut()
            .context("mcpServers is not an object: correct this field in the file first")
    }

    /// Writes the content to the file at `path` atomically. Creates the file and its folder if they are missing. If `path`
    /// is a symbolic link to an existing file, that file is replaced and the link stays; a link without a target is itself
    /// replaced.
    ///
    /// # Errors
    /// Fails if the file cannot be written. The file is then unchanged.
    fn write(&self, path: &Path) -> Result<()> {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.indent.as_bytes());
        self.fields
            .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
        bytes.push(b'\n');
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        save::write_atomic(&target, &String::from_utf8(bytes)?)
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}

/// Returns the indentation of the first indented line. Returns two spaces if no line is indented or the indentation is
/// longer than 8 characters.
fn indent(text: &str) -> String {
    let line = text
        .lines()
        .skip(1)
        .find(|line| line.starts_with([' ', '\t']));
    let blanks = line.map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    match blanks {
        Some(blanks) if blanks.len() <= 8 => blanks.to_string(),
        _ => "  ".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;

    use super::*;

    fn server(name: &str, command: &[&str]) -> NewServer {
        NewServer {
            name: name.into(),
            command: command.iter().map(ToString::to_string).collect(),
            url: None,
            headers: Vec::new(),
            env: Vec::new(),
        }
    }

    #[test]
    fn unknown_fields_and_order_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SERVER_FILE);
        let before = "{\n\t\"zeta\": 1.50,\n\t\"mcpServers\": {\n\t\t\"b\": {\n\t\t\t\"command\": \"b\",\n\t\t\t\"own\": [\n\t\t\t\t1\n\t\t\t]\n\t\t}\n\t},\n\t\"alpha\": null\n}\n";
        fs::write(&path, before).unwrap();
        let mut new = server("a", &["a", "-x"]);
        new.env = vec![("K".into(), "${V}".into())];
        add_server(dir.path(), ServerScope::Project, &new).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let added = ",\n\t\t\"a\": {\n\t\t\t\"command\": \"a\",\n\t\t\t\"args\": [\n\t\t\t\t\"-x\"\n\t\t\t],\n\t\t\t\"env\": {\n\t\t\t\t\"K\": \"${V}\"\n\t\t\t}\n\t\t}\n\t},\n\t\"alpha\"";
        assert_eq!(
            text,
            before
                .replace("\n\t},\n\t\"alpha\"", added)
                .replace("1.50", "1.5")
        );
        let again = add_server(dir.path(), ServerScope::Project, &new).unwrap_err();
        assert!(again.to_string().contains("remove it first"), "{again}");
        remove_server(dir.path(), Some(ServerScope::Project), "a").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            before.replace("1.50", "1.5")
        );
        let missing = remove_server(dir.path(), Some(ServerScope::Project), "bb").unwrap_err();
        assert!(missing.to_string().contains("did you mean b?"), "{missing}");
    }

    #[test]
    fn invalid_servers_and_files_change_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SERVER_FILE);
        let add = |new: &NewServer| {
            add_server(dir.path(), ServerScope::Project, new)
                .unwrap_err()
                .to_string()
        };
        assert!(add(&server("a b", &["x"])).starts_with("server a b: a name has"));
        assert!(add(&server("a", &[""])).contains("command is empty"));
        let mut web = server("a", &[]);
        web.url = Some("x".into());
        assert!(add(&web).contains("must begin with http"));
        assert!(!path.exists());
        fs::write(&path, "{\n  oops").unwrap();
        assert!(add(&server("a", &["x"])).contains(".mcp.json:2:3: key must be a string"));
        fs::write(&path, "{\"mcpServers\": 5}").unwrap();
        assert!(add(&server("a", &["x"])).contains("mcpServers is not an object"));
    }
}
