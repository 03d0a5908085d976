//! `crewdeck worker` and the lead of a crew on a hub, as real processes with a real NATS server: work, shutdown, kills, outages,
//! requests and errors. All tests need `CREWDECK_NATS_SERVER`.

mod errors;
mod kills;
mod outages;
mod requests;
mod shutdown;
mod work;

/// Rules of a lead that does nothing until the end of the test, but runs.
const WORKING_LEAD: &str = "
  - agent: lead
    times: 0
    fault: { hang: true }
";
