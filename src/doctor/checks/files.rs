//! Files beside the state: damaged ones that were set aside, temporary ones of killed writers.

use crate::doctor::words::{count, size};
use crate::doctor::{Crew, Finding, Mend, Place};
use crate::store::{self, Leftovers};

const CHECK: &str = "files";

/// Looks at the state folders.
pub fn look(place: &Place) -> Vec<Finding> {
    if !store::is_used(&place.root) {
        return Vec::new();
    }
    judge(&store::leftovers(&place.root), &place.crew)
}

fn judge(left: &Leftovers, crew: &Crew) -> Vec<Finding> {
    let mut found: Vec<Finding> = left
        .damaged
        .iter()
        .map(|aside| {
            let (path, was) = (aside.path.display(), aside.was.display());
            Finding::warn(
                CHECK,
                format!(
                    "{path} ({}) was damaged when it was {was}, and set aside",
                    size(aside.bytes)
                ),
                "look what of it is of use, then delete it: crewdeck does not read it",
            )
        })
        .collect();
    if !left.temporary.is_empty() {
        let text = format!(
            "{} of writers that were killed",
            count(left.temporary.len(), "temporary file")
        );
        let finding = Finding::warn(
            CHECK,
            text,
            "nobody needs them: crewdeck doctor --mend deletes them",
        );
        let files = left.temporary.clone();
        found.push(match crew {
            Crew::None => finding.mended_by(Mend::Sweep { files }),
            Crew::Runs(_) => finding,
        });
    }
    if found.is_empty() {
        return vec![Finding::ok(
            CHECK,
            "nothing is damaged, nothing is left over",
        )];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Aside;
    use pretty_assertions::assert_eq;

    #[test]
    fn damaged_files_are_the_persons_and_temporary_ones_are_swept() {
        let left = Leftovers {
            damaged: vec![Aside {
                path: ".tasks/task_1.json.damaged-1".into(),
                was: ".tasks/task_1.json".into(),
                bytes: 2000,
            }],
            temporary: vec!["/r/.tasks/.tmp-a".into()],
        };
        let found = judge(&left, &Crew::None);
        assert_eq!(
            found[0].text,
            ".tasks/task_1.json.damaged-1 (2 KiB) was damaged when it was .tasks/task_1.json, and set aside"
        );
        assert_eq!(found[0].mend, None);
        assert_eq!(
            found[1].mend,
            Some(Mend::Sweep {
                files: left.temporary.clone()
            })
        );
        assert_eq!(judge(&left, &Crew::Runs(None))[1].mend, None);
        assert_eq!(judge(&Leftovers::default(), &Crew::None).len(), 1);
    }
}
