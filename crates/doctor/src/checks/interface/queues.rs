//! Queues of the interface.

use waykeeper_linux::format_cpulist;

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::cores::parse_mask;
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-queues",
    subject: "queues of the interface",
    why: "In a queue that real-time packets share with others they wait behind these. Receive packet steering hands packets to \
          another core by an interrupt between cores.",
    source: "ethtool(8), options -l and -N; Linux Documentation/networking/scaling.rst",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let steered: Vec<Seen> = view
        .root
        .names(&interface.file("queues"))
        .iter()
        .filter_map(|queue| {
            let file = interface.file(&format!("queues/{queue}/rps_cpus"));
            let cores = parse_mask(&view.root.text(&file)?).filter(|cores| !cores.is_empty())?;
            Some(Seen::new(file, format!("cores {}", format_cpulist(&cores))))
        })
        .collect();
    if let Some(first) = steered.first() {
        let fixes = vec![Fix::Command(format!("echo 0 > {}   (and so for the others)", first.file))];
        let what = format!("Receive packet steering is on for {} queues of {name}.", steered.len());
        return found(Severity::Warning, what, steered, fixes);
    }
    let queues = interface.driver.queues.as_ref().map_err(|why| NotSeen(why.clone()))?;
    let seen = vec![Seen::new(
        format!("ethtool -l {name}"),
        format!("{} receive, {} transmit", queues.receive, queues.transmit),
    )];
    if queues.receive > 1 {
        return fine(format!("{} receive; `ethtool -N` brings a flow to one of them", queues.receive), seen);
    }
    let fixes = match queues.most_receive > 1 {
        true => vec![
            Fix::Command(format!("ethtool -L {name} combined {}", queues.most_receive)),
            Fix::Other("then a flow rule for the real-time packets (ethtool -N)".into()),
        ],
        false => vec![Fix::Other("give the real-time packets an interface of their own".into())],
    };
    found(Severity::Warning, format!("{name} has one receive queue for all packets."), seen, fixes)
}
