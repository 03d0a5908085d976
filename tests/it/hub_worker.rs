//! `crewdeck worker` and the lead of a crew on a hub, as real processes with a real NATS server: starts, work, shutdown, kills,
//! lost tasks, copied clones, outages, requests, TLS and errors. All tests need `CREWDECK_NATS_SERVER`.

mod copies;
mod errors;
mod formats;
mod kills;
mod lost_tasks;
mod outage_screen;
mod outages;
mod process;
mod requests;
mod shutdown;
mod starts;
mod tls;
mod work;

/// Rules of a lead that does nothing until the end of the test, but runs.
const WORKING_LEAD: &str = "
  - agent: lead
    times: 0
    fault: { hang: true }
";
