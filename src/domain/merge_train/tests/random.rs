//! Random trains: nothing that breaks lands, each pair is named, and all good branches land.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Model, members, set};
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{MergeTrain, ThrownOut, TrainEnd};

/// A model with 1 to 8 branches, some of which break alone or in pairs, some with what another program commits.
fn models() -> impl Strategy<Value = (u64, Model, BTreeMap<u64, BTreeSet<TaskId>>)> {
    (1_u64..=8).prop_flat_map(|count| {
        let member = 1..=count;
        // 100 and 101 are commits of another program.
        let partner = prop_oneof![4 => 1..=count, 1 => 100_u64..=101];
        let sets = proptest::collection::vec((member.clone(), partner), 0..4);
        let conflicts = proptest::collection::vec((member.clone(), member.clone()), 0..3);
        let needs = proptest::collection::vec((member.clone(), member), 0..3);
        let commits = proptest::sample::subsequence(vec![100, 101], 0..=2);
        (sets, conflicts, needs, commits).prop_map(move |(sets, conflicts, pairs, commits)| {
            let mut needs: BTreeMap<u64, BTreeSet<TaskId>> = BTreeMap::new();
            for (later, earlier) in pairs {
                if earlier < later {
                    needs.entry(later).or_default().insert(TaskId(earlier));
                }
            }
            let model = Model {
                // A pair of equal numbers is a branch that breaks alone.
                breaking: sets.iter().map(|(a, b)| set(&[*a, *b])).collect(),
                conflicts: conflicts.into_iter().filter(|(a, b)| a != b).collect(),
                commits,
                ..Model::default()
            };
            (count, model, needs)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn all_good_branches_land_and_nothing_breaking_does((count, mut model, needs) in models()) {
        let mut all = members(1..=count);
        for member in &mut all {
            member.needs = needs.get(&member.task.0).cloned().unwrap_or_default();
        }
        let mut train = MergeTrain::new("{}", &all);
        // The model itself refuses to land what breaks.
        prop_assert_eq!(model.run(&mut train), TrainEnd::Finished);
        prop_assert!(!model.is_red(&model.base));
        prop_assert!(train.waiting().is_empty());
        let mut seen: Vec<TaskId> = train.landed().to_vec();
        seen.extend(train.thrown_out().iter().map(|out| out.task));
        seen.extend(train.held_back().iter().map(|held| held.task));
        seen.sort();
        let everyone: Vec<TaskId> = (1..=count).map(TaskId).collect();
        prop_assert_eq!(&seen, &everyone);
        let is_suspect = |task: TaskId| {
            let in_set = model.breaking.iter().any(|set| set.contains(&task.0));
            let in_conflict = model.conflicts.iter().any(|(a, b)| [*a, *b].contains(&task.0));
            in_set || in_conflict || train.held_back().iter().any(|held| held.task == task)
        };
        for task in everyone {
            prop_assert!(is_suspect(task) || train.landed().contains(&task), "{task} did not land");
        }
        for out in train.thrown_out().iter().filter(|out| !out.with.is_empty()) {
            // Only pairs are hidden, and each set that is named is one of them.
            let named: BTreeSet<u64> = out.with.iter().chain([&out.task]).map(|task| task.0).collect();
            prop_assert!(model.breaking.contains(&named), "{named:?}");
        }
    }

    #[test]
    fn each_separate_pair_is_named(count in 2_u64..=16, gap in 1_u64..=5) {
        // Pairs without a common member: 1 with 1 + gap, and so on.
        let mut free: BTreeSet<u64> = (1..=count).collect();
        let mut pairs = Vec::new();
        for first in 1..=count {
            let second = first + gap;
            if free.contains(&first) && free.contains(&second) && pairs.len() < 3 {
                free.remove(&first);
                free.remove(&second);
                pairs.push(set(&[first, second]));
            }
        }
        let mut model = Model { breaking: pairs.clone(), ..Model::default() };
        let mut train = MergeTrain::new("{}", &members(1..=count));
        prop_assert_eq!(model.run(&mut train), TrainEnd::Finished);
        let named = |out: &ThrownOut| -> BTreeSet<u64> {
            out.with.iter().chain([&out.task]).map(|task| task.0).collect()
        };
        let mut found: Vec<BTreeSet<u64>> = train.thrown_out().iter().map(named).collect();
        found.sort();
        pairs.sort();
        prop_assert_eq!(&found, &pairs);
        prop_assert_eq!(train.landed().len() + pairs.len(), usize::try_from(count).unwrap());
        // One run for the whole and one for the base; for each pair two searches by halves, the two single ones, and the
        // rest as a whole.
        prop_assert!(model.checked.len() <= 2 + pairs.len() * (2 * 4 + 3), "{}", model.checked.len());
    }
}
