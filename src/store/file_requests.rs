//! The embedded store of approval requests: `.team/requests/ID.json`.

use std::fs;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::atomic::{self, Lock};
use super::read_stable::{self, StableRead};
use super::request_store::{RequestEdit, RequestStore, RequestsSnapshot};
use crate::domain::ids::RequestId;
use crate::domain::request::Request;

/// The request files of a project. Keeps no state in memory.
#[derive(Debug)]
pub(super) struct FileRequests {
    dir: PathBuf,
}

impl RequestStore for FileRequests {
    fn create(&self, request: &Request) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        self.save(request, atomic::write_new)
    }

    fn get(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        if !id.is_safe() {
            return Ok(None);
        }
        let path = self.path(id);
        let why = match read_stable::read::<Request>(&path)? {
            StableRead::Valid(request) if request.id == *id => return Ok(Some(request)),
            StableRead::Missing => return Ok(None),
            StableRead::Valid(_) => "the id in the file does not match the file name".into(),
            StableRead::Damaged(why) | StableRead::Unsupported(why) => why,
        };
        let why = std::io::Error::other(why);
        Err(StoreError::File { path, why })
    }

    /// A missing folder counts as empty. A damaged file is renamed to `NAME.damaged-N`. A file that cannot be used becomes a
    /// notice; a file whose name cannot be an id is ignored.
    fn read_all(&self) -> Result<RequestsSnapshot, StoreError> {
        let mut out = RequestsSnapshot::default();
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(out),
            Err(error) => return Err(StoreError::at(&self.dir)(error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(id) = name.strip_suffix(".json").map(|id| RequestId(id.into())) else {
                continue;
            };
            if !id.is_safe() {
                continue;
            }
            // One unreadable file must not keep the other requests from being read.
            let found = read_stable::read::<Request>(&entry.path())
                .unwrap_or_else(|e| StableRead::Unsupported(e.to_string()));
            match found {
                StableRead::Valid(request) if request.id == id => out.requests.push(request),
                StableRead::Valid(_) => out.notices.push(format!(
                    ".team/requests/{name} is ignored: the id in the file does not match the file name"
                )),
                StableRead::Missing => {}
                StableRead::Unsupported(why) => {
                    out.notices
                        .push(format!(".team/requests/{name} is ignored: {why}"));
                }
                StableRead::Damaged(why) => {
                    out.notices.push(match self.set_aside(&entry.path()) {
                        Ok(aside) => format!(
                            ".team/requests/{name} was damaged ({why}) and was renamed to .team/requests/{}",
                            aside.file_name().unwrap_or_default().to_string_lossy()
                        ),
                        Err(error) => format!(
                            ".team/requests/{name} is damaged ({why}) and cannot be renamed: {error}"
                        ),
                    });
                }
            }
        }
        out.requests
            .sort_by(|a, b| a.created_at.0.total_cmp(&b.created_at.0));
        Ok(out)
    }

    fn change(&self, id: &RequestId, edit: &mut RequestEdit<'_>) -> Result<Request, StoreError> {
        let _lock = self.lock()?;
        let found = self.get(id)?;
        let mut request = found.ok_or_else(|| StoreError::NoRequest(id.clone()))?;
        if edit(&mut request)? {
            self.save(&request, atomic::write)?;
        }
        Ok(request)
    }
}

impl FileRequests {
    /// Opens the requests of the project in `root`. No file is created or read yet.
    pub(super) fn open(root: &Path) -> FileRequests {
        FileRequests {
            dir: root.join(".team").join("requests"),
        }
    }

    fn set_aside(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let _lock = self.lock()?;
        atomic::set_aside(path)
    }

    fn save(
        &self,
        request: &Request,
        write: fn(&Path, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !request.id.is_safe() {
            return Err(StoreError::NoRequest(request.id.clone()));
        }
        let mut text = serde_json::to_string_pretty(request)?;
        text.push('\n');
        write(&self.path(&request.id), text.as_bytes())
    }

    fn path(&self, id: &RequestId) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        Lock::take(&self.dir.join(".lock"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::request::RequestKind;
    use crate::domain::timestamp::Timestamp;

    fn request(body: &str) -> Request {
        let (from, target) = (Name::user(), Name::lead());
        let kind = RequestKind::Shutdown;
        Request::new(
            RequestId("r1".into()),
            kind,
            from,
            target,
            body.into(),
            Timestamp(1.0),
        )
    }

    fn requests() -> (tempfile::TempDir, FileRequests) {
        let root = tempfile::tempdir().unwrap();
        super::super::prepare(root.path()).unwrap();
        let requests = FileRequests::open(root.path());
        (root, requests)
    }

    #[test]
    fn request_is_not_replaced_by_another_one() {
        let (_root, requests) = requests();
        requests.create(&request("first")).unwrap();
        let why = requests.create(&request("second")).unwrap_err().to_string();
        assert!(why.contains("r1.json"), "{why}");
        let found = requests.get(&RequestId("r1".into())).unwrap().unwrap();
        assert_eq!(found.body, "first");
    }

    #[test]
    fn unreadable_request_is_an_error_and_no_missing_one() {
        let (_root, requests) = requests();
        requests.create(&request("first")).unwrap();
        let id = RequestId("r1".into());
        for text in ["{\"id\": ", "{\"id\": 7}"] {
            fs::write(requests.path(&id), text).unwrap();
            let why = requests.get(&id).unwrap_err().to_string();
            assert!(why.contains("r1.json"), "{why}");
        }
        assert_eq!(requests.get(&RequestId("r2".into())).unwrap(), None);
    }
}
