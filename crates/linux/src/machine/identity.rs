//! Which machine this is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::catalogue::catalogue;

use super::Reading;
use crate::recording::{MANIFEST, Manifest};

/// Processor, kernel and where this was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The processor's name.
    pub processor: Option<String>,
    /// Its maker, as CPUID or `/proc/cpuinfo` tell it.
    pub vendor: Option<String>,
    /// Family, model and stepping, on x86.
    pub signature: Option<[u32; 3]>,
    /// The architecture, as `uname -m` reports it.
    pub architecture: Option<String>,
    /// The hypervisor below, or `unknown`.
    pub hypervisor: Option<String>,
    /// The kernel's release and version.
    pub kernel: Option<String>,
    /// The processor's number in the catalogue, where it is there.
    pub catalogue: Option<String>,
    /// Who recorded it, for a recorded tree with a manifest.
    pub recorded: Option<RecordedBy>,
}

/// Who recorded a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Recorded")]
pub struct RecordedBy {
    /// The program, or where it was made up from.
    pub made_by: String,
    /// The day.
    pub date: Option<String>,
}

pub(super) fn read(reading: &Reading) -> Identity {
    let root = reading.root;
    let info = root.text("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
    };
    let number = |key: &str| value(key)?.parse().ok();
    let manifest = root.text(MANIFEST).and_then(|text| toml::from_str::<Manifest>(&text).ok());
    let leaves = reading.leaves.first().map(|(_, leaves)| leaves);
    let brand =
        leaves.and_then(|leaves| Some(leaves.decoder().get_processor_brand_string()?.as_str().trim().to_owned()));
    let model = root.text("/sys/firmware/devicetree/base/model").map(|text| text.trim_matches('\0').to_owned());
    let board = ["sys_vendor", "product_name"].map(|file| root.text(&format!("/sys/class/dmi/id/{file}")));
    let board = board.into_iter().collect::<Option<Vec<_>>>().map(|words| words.join(" "));
    let is_arm = value("CPU implementer").is_some();
    let processor = crate::architecture::processor(root)
        .or(brand.filter(|text| !text.is_empty()))
        .or(model)
        .or(board.filter(|_| is_arm));
    let architecture = crate::architecture::architecture(root);
    Identity {
        catalogue: processor.as_deref().and_then(|name| catalogue().of_brand(name)).map(|entry| entry.sku),
        processor,
        vendor: value("vendor_id").or_else(|| is_arm.then(|| "Arm".into())),
        signature: number("cpu family").and_then(|family| Some([family, number("model")?, number("stepping")?])),
        architecture,
        hypervisor: crate::facts::hypervisor(root),
        kernel: crate::facts::facts(root, 0).kernel,
        recorded: manifest.map(|manifest| RecordedBy { made_by: manifest.made_by, date: manifest.date }),
    }
}
