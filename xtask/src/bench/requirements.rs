//! What is compared with what, and how much faster we must be.

/// What our case is held against.
pub enum Against {
    /// A case of the Python worker: how many times faster we must be at least.
    Peer {
        case: &'static str,
        what: &'static str,
        times: Option<f64>,
    },
    /// The multiply-add peak of this core: the share of it that we must reach.
    Peak { share: f64 },
}

/// One case of ours and all that it is held against, measured in turns.
pub struct Group {
    pub name: &'static str,
    pub what: &'static str,
    pub against: &'static [Against],
}

/// Our case that runs nothing but independent multiply-adds.
pub const PEAK: &str = "peak";

/// Every comparison, the required factors with it.
pub const GROUPS: &[Group] = &[Group {
    name: "phase-one",
    what: "step of phase 1, batch 256",
    against: &[
        Against::Peer {
            case: "phase-one-best",
            what: "best PyTorch: compiled, fused Adam",
            times: Some(2.8),
        },
        Against::Peer {
            case: "phase-one-released",
            what: "released style: DataLoader, eager",
            times: Some(8.0),
        },
        Against::Peak { share: 0.75 },
    ],
}];
