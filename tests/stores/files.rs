//! The embedded store: the files of a project.

use std::path::Path;

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::task::Task;
use crewdeck::store::{self, Stores};

use crate::suite::{Backend, conformance};

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        let root = tempfile::tempdir().unwrap();
        store::prepare(root.path()).unwrap();
        Files(root)
    }
}

impl Backend for Files {
    fn open(&self) -> Stores {
        Stores::open(self.root())
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn put_task(&self, task: &Task) {
        let path = self.root().join(format!(".tasks/task_{}.json", task.id.0));
        std::fs::write(path, serde_json::to_vec(task).unwrap()).unwrap();
    }

    fn damage_task(&self, id: TaskId) {
        let path = self.root().join(format!(".tasks/task_{}.json", id.0));
        std::fs::write(path, "{\"id\":").unwrap();
    }
}

conformance!(super::Files::new());
