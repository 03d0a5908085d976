//! Finds damaged files that were renamed to `NAME.damaged-N`, and temporary files of killed processes.

use crate::doctor::units::size;
use crate::doctor::{CrewPresence, DoctorContext, Finding, Fix};
use crate::domain::text::count_noun;
use crate::store::{self, Leftovers};

const CHECK: &str = "files";

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if !store::has_state(&context.root) {
        return Vec::new();
    }
    evaluate(&store::leftovers(&context.root), &context.crew)
}

fn evaluate(left: &Leftovers, crew: &CrewPresence) -> Vec<Finding> {
    let mut found: Vec<Finding> = left
        .damaged
        .iter()
        .map(|aside| {
            let (path, was) = (aside.path.display(), aside.original.display());
            Finding::warn(
                CHECK,
                format!(
                    "{path} ({}) is a damaged {was} that crewdeck has renamed",
                    size(aside.bytes)
                ),
                "save what you need from the file, then delete it: crewdeck does not use it",
            )
        })
        .collect();
    if !left.temporary.is_empty() {
        let text = format!(
            "{} of killed processes",
            count_noun(left.temporary.len(), "temporary file")
        );
        let finding = Finding::warn(CHECK, text, "delete them: crewdeck doctor --mend");
        let files = left.temporary.clone();
        found.push(match crew {
            CrewPresence::None => finding.with_fix(Fix::Sweep { files }),
            CrewPresence::Runs(_) => finding,
        });
    }
    if found.is_empty() {
        return vec![Finding::ok(CHECK, "no damaged or temporary files")];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::DamagedFile;
    use pretty_assertions::assert_eq;

    #[test]
    fn damaged_files_have_no_fix_and_temporary_files_have_one() {
        let left = Leftovers {
            damaged: vec![DamagedFile {
                path: ".tasks/task_1.json.damaged-1".into(),
                original: ".tasks/task_1.json".into(),
                bytes: 2000,
            }],
            temporary: vec!["/r/.tasks/.tmp-a".into()],
        };
        let found = evaluate(&left, &CrewPresence::None);
        assert_eq!(
            found[0].text,
            ".tasks/task_1.json.damaged-1 (2 KiB) is a damaged .tasks/task_1.json that crewdeck has renamed"
        );
        assert_eq!(found[0].fix, None);
        assert_eq!(
            found[1].fix,
            Some(Fix::Sweep {
                files: left.temporary.clone()
            })
        );
        assert_eq!(evaluate(&left, &CrewPresence::Runs(None))[1].fix, None);
        assert_eq!(
            evaluate(&Leftovers::default(), &CrewPresence::None).len(),
            1
        );
    }
}
