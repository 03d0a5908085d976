//! Tests of the models that agents get, and of their changes.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use super::test_support::TestCrew;
use crate::domain::ids::Name;
use crate::domain::named_model::ModelUses;
use crate::domain::role::RoleEffort;
use crate::domain::team::ModelChoice;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind};

#[tokio::test]
async fn other_model_is_used_from_the_next_call_on() {
    let mut crew = TestCrew::new();
    let models = crew.models();
    let lead = models.of_lead();
    models.switch_to("loud".into(), None).await.unwrap();
    assert_eq!(lead.current().name, "loud");
    assert_eq!(models.current().window, None);
    // If the price were lost, the model's calls would no longer count towards a budget in US dollars.
    assert_eq!(models.current().price.map(|price| price.input), Some(2.0));
    models.list().await.unwrap();
    let events = crew.take_events();
    assert!(
        matches!(&events[0], EventKind::Crew(CrewEvent::Ready(setup)) if setup.model == "loud")
    );
    assert!(
        matches!(&events[1], EventKind::Crew(CrewEvent::ModelsListed { names }) if *names == ["strong", "keyless"]),
        "{events:?}"
    );
    assert!(
        matches!(&events[2], EventKind::Crew(CrewEvent::ModelsListed { names }) if names.len() == 4)
    );
}

#[tokio::test]
async fn model_of_one_teammate_changes_alone() {
    let mut crew = TestCrew::new();
    let models = crew.models();
    let ann = Name::party("ann").unwrap();
    let (handle, _inbox) = crew.agent(&ann);
    models.switch_to("strong".into(), Some(&ann)).await.unwrap();
    assert_eq!(handle.model.current().name, "strong-1");
    assert_eq!(handle.model.current().window, Some(5000));
    assert_eq!(models.current().name, "silent");
    let events = crew.take_events();
    assert!(
        matches!(&events[..], [EventKind::Agent { agent, event: AgentEvent::ModelChanged { model, .. } }] if *agent == ann && model == "strong-1"),
        "{events:?}"
    );
    let missing = Name::party("bob").unwrap();
    let error = models.switch_to("strong".into(), Some(&missing)).await;
    assert_eq!(error, Err("'bob' is not a running teammate.".to_string()));
    let error = models.switch_to("keyless".into(), None).await;
    assert_eq!(
        error,
        Err("the model 'keyless' cannot be used: there is no API key".to_string())
    );
    assert_eq!(
        models.current().name,
        "silent",
        "a failed change has no effect"
    );
}

#[tokio::test]
async fn effort_of_the_role_comes_before_that_of_the_model() {
    let mut crew = TestCrew::new();
    let models = crew.models();
    let ann = Name::party("ann").unwrap();
    let (mut handle, _inbox) = crew.agent(&ann);
    handle.effort = Some(RoleEffort::High);
    crew.registry.add(ann.clone(), handle);
    models.switch_to("strong".into(), Some(&ann)).await.unwrap();
    let events = crew.take_events();
    assert!(
        matches!(&events[..], [EventKind::Agent { event: AgentEvent::ModelChanged { effort, .. }, .. }] if *effort == Some(RoleEffort::High)),
        "{events:?}"
    );
}

#[tokio::test]
async fn unnamed_models_stay_on_the_server_of_the_crew() {
    let crew = TestCrew::new();
    let models = crew.models();
    let server = models.current().model;
    models.switch_to("strong".into(), None).await.unwrap();
    assert!(!Arc::ptr_eq(&server, &models.current().model));
    let other = models.of_teammate("other").unwrap().current();
    assert!(Arc::ptr_eq(&server, &other.model));
    assert_eq!((&*other.name, other.max_tokens), ("other", 100));
}

#[tokio::test]
async fn chosen_model_of_the_lead_is_restored_if_it_still_exists() {
    let mut crew = TestCrew::new();
    let models = crew.models();
    assert!(models.restore_lead(&models.choice("strong".into())).await);
    assert_eq!(models.of_lead().current().name, "strong-1");
    let gone = ModelChoice {
        name: "gone".into(),
        named: true,
    };
    crew.take_events();
    assert!(models.restore_lead(&gone).await);
    assert_eq!(models.current().name, "strong-1");
    let notice = "The lead uses strong-1 instead of its earlier model: the named model 'gone' is not in the settings any more";
    assert_eq!(crew.notices(), [notice]);
    let mut parts = crew.model_parts();
    parts.is_chosen = true;
    let models = crew.models_of(parts);
    assert!(!models.restore_lead(&models.choice("strong".into())).await);
    assert_eq!(models.current().name, "silent");
}

#[tokio::test]
async fn names_in_use_that_look_like_a_named_model_are_reported() {
    let mut crew = TestCrew::new();
    let mut parts = crew.model_parts();
    parts.uses = ModelUses {
        lead: None,
        teammate: Some("sonnet".into()),
        subagent: Some("strng".into()),
        summary: Some("gpt-5".into()),
    };
    let models = crew.models_of(parts);
    assert_eq!(models.of_teammate("").unwrap().current().name, "silent");
    models.warn_about_uses().await;
    assert_eq!(
        crew.notices(),
        [
            "The model 'sonnet' in the setting use.teammate has no effect: it means one of your named models, and there is none of this name. Add it to the setting models.",
            "The model 'strng' in the setting use.subagent is no named model, so it is called as a model of the crew's server. If 'strong' is meant, correct it.",
        ]
    );
}

#[tokio::test]
async fn aliases_of_claude_code_mean_a_named_model_or_the_shared_one() {
    let crew = TestCrew::new();
    let models = crew.models();
    let name = |chosen: &str| models.of_teammate(chosen).unwrap().current().name;
    assert_eq!(name("opus"), "silent");
    assert_eq!(name("strong"), "strong-1");
    assert_eq!(name("other"), "other");
    let parent = models.of_teammate("strong").unwrap();
    let own = models.of_subagent("", &parent).unwrap();
    assert_eq!(own.current().name, "strong-1");
    assert!(models.of_teammate("keyless").is_err());
}
