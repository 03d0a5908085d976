//! A crew that another version of crewdeck has stored.

use std::collections::BTreeMap;

use async_nats::jetstream::{self, stream::Config};
use pretty_assertions::assert_eq;

use super::errors::{assert_contains, failure};
use crate::common::hub_project::{HANGS, HubProject, writes_notes};

/// The entry in the metadata of a stream with the version of its format.
const FORMAT: &str = "crewdeck-format";

/// Number of messages of each stream, and the number of the last one.
type StreamStates = BTreeMap<String, (u64, u64)>;

/// Applies `change` to the configuration of each stream of the crew. Returns what the streams contain.
fn change_streams(project: &HubProject, change: impl Fn(&mut Config)) -> StreamStates {
    let url = project.server.url();
    let server = url.strip_suffix("/web").unwrap().to_string();
    let changed = async {
        let client = async_nats::connect(server).await.unwrap();
        let jetstream = jetstream::new(client);
        let mut states = StreamStates::new();
        for name in ["tasks", "state", "mail", "leases"] {
            let name = format!("crewdeck_web_{name}");
            let stream = jetstream.get_stream(&name).await.unwrap();
            let info = stream.cached_info();
            let mut config = info.config.clone();
            change(&mut config);
            jetstream.update_stream(config).await.unwrap();
            states.insert(name, (info.state.messages, info.state.last_sequence));
        }
        states
    };
    tokio::runtime::Runtime::new().unwrap().block_on(changed)
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn only_crews_of_later_versions_are_left_alone() {
    let project = HubProject::new(&["alpha"]);
    let task = project.add_task(&["First"]);
    // These create the other streams.
    assert_eq!(project.hosts(), Vec::new());
    assert!(project.stores.mailbox.count_unread().unwrap().is_empty());
    let mark_as_later = |config: &mut Config| {
        config.metadata.insert(FORMAT.into(), "2".into());
    };
    let before = change_streams(&project, mark_as_later);

    let (provider, url) = (project.write_script("lead", HANGS), project.server.url());
    let hub = ["--hub", &url, "--provider", &provider];
    let in_lead = |more: &[&str]| project.command("lead", &[&hub[..], more].concat());
    for mut command in [
        project.worker_command("alpha", &writes_notes(0), &[]),
        in_lead(&["run", "Wait."]),
        in_lead(&["task", "list"]),
        in_lead(&["task", "add", "Second"]),
        in_lead(&["mail", "send", "lead", "hello"]),
        in_lead(&["team", "list"]),
    ] {
        let error = failure(&mut command);
        assert_contains(&error, "a newer crewdeck has stored the crew");
        assert_contains(&error, "update crewdeck on this machine");
    }
    // The first versions have recorded none.
    let remove_mark = |config: &mut Config| {
        config.metadata.remove(FORMAT);
    };
    assert_eq!(change_streams(&project, remove_mark), before);
    project.assert_no_worktrees("alpha");

    let _worker = project.start_worker("alpha", &writes_notes(0), &[]);
    assert_eq!(project.wait_until_completed(task).owner, "alpha-1");
}
