//! Case files of networks.

use serde::Deserialize;

/// A case as MATPOWER writes it: MW, MVAr, degrees; impedances and voltages per unit.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Case {
    pub(super) base_mva: f64,
    pub(super) bus: Vec<Bus>,
    #[serde(rename = "gen")]
    pub(super) generators: Vec<Generator>,
    pub(super) branch: Vec<Branch>,
    pub(super) cost: Vec<Cost>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Bus {
    #[serde(rename = "type")]
    pub(super) kind: f64,
    pub(super) load_mw: f64,
    pub(super) load_mvar: f64,
    pub(super) shunt_mw: f64,
    pub(super) shunt_mvar: f64,
    pub(super) vm_max: f64,
    pub(super) vm_min: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Generator {
    pub(super) bus: f64,
    pub(super) mvar_max: f64,
    pub(super) mvar_min: f64,
    pub(super) mw_max: f64,
    pub(super) mw_min: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Branch {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) r: f64,
    pub(super) x: f64,
    pub(super) b: f64,
    pub(super) rate_a_mva: f64,
    pub(super) tap: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Cost {
    pub(super) quadratic: f64,
    pub(super) linear: f64,
    pub(super) constant: f64,
}
