//! The places of the pictures: a heading, what the picture shows, and room that the script fills.

use super::escape;
use crate::data::{Data, ScaleKind};

/// The pictures for which there is data, in the page's order.
pub fn figures(data: &Data) -> String {
    let mut html = String::new();
    if let Some(latency) = &data.latency {
        let log = latency.first == ScaleKind::Log;
        html += &figure(
            "latency",
            "Latency plot",
            "How many samples were how long, counts on a logarithmic axis. Each line is a case over its whole run length.",
            &scale_switch(log),
        );
    }
    if data.exceedance.is_some() {
        html += &figure(
            "exceedance",
            "Complementary distribution",
            "The share of samples that were at least so long. Thin lines are tails that fit, up to the length of the run \
             they are asked for; vertical lines are limits of budgets.",
            &scale_switch(data.latency.as_ref().is_some_and(|latency| latency.first == ScaleKind::Log)),
        );
    }
    if data.peaks.is_some() {
        html += &figure(
            "peaks",
            "Largest samples over time",
            "The largest sample of each interval, or of each repeat where repeats are short. Repeats follow each other. A \
             maximum belongs to the time in which it was seen, and bounds nothing.",
            "",
        );
    }
    for (at, sweep) in data.sweeps.iter().enumerate() {
        html += &figure(
            &format!("sweep-{at}"),
            &sweep.title(data.runs.len()),
            "The figure that the experiment is about, against what it sweeps. Diamonds are published figures; hollow ones were fitted on or imposed.",
            "",
        );
    }
    if !data.occupancy.is_empty() {
        html += &figure(
            "occupancy",
            "The last shared cache over time",
            "Whose lines it holds during the first repeat, and how many of its ways each may fill.",
            "<select class=\"choice\" aria-label=\"case\"></select>",
        );
    }
    if !data.longest.is_empty() {
        html += &figure(
            "longest",
            "Parts of the longest samples",
            "What the core waited for, from the start of the sample. Parts overlap where it did other things meanwhile.",
            "<select class=\"choice\" aria-label=\"sample\"></select>",
        );
    }
    for (at, published) in data.published.iter().enumerate() {
        html += &figure(
            &format!("published-{at}"),
            &format!("Published {} beside ours", published.metric),
            &format!(
                "Diamonds: {}. Hollow ones are no evidence: with a dotted edge a parameter of the model was fitted on the figure, \
                 with a solid edge it was imposed on the model.",
                published.source.trim_end_matches('.')
            ),
            "",
        );
    }
    if html.is_empty() { html } else { format!("<section id=\"pictures\"><h2>Pictures</h2>{html}</section>") }
}

fn scale_switch(log: bool) -> String {
    let pressed = |on: bool| if on { "true" } else { "false" };
    format!(
        "<div class=\"switch\" role=\"group\" aria-label=\"axis of lengths\"><button type=\"button\" data-scale=\"linear\" \
         aria-pressed=\"{}\">linear</button><button type=\"button\" data-scale=\"log\" aria-pressed=\"{}\">log</button></div>",
        pressed(!log),
        pressed(log)
    )
}

fn figure(id: &str, heading: &str, what: &str, tools: &str) -> String {
    format!(
        "<figure id=\"{id}\"><div class=\"figure-head\"><h3>{}</h3>{tools}</div><figcaption>{}</figcaption>\
         <div class=\"legend\"></div><div class=\"chart\"></div></figure>",
        escape::text(heading),
        escape::prose(what)
    )
}
