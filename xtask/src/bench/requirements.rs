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
    /// A time that one call may take at most.
    Limit { seconds: f64 },
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
pub const GROUPS: &[Group] = &[
    Group {
        name: "point",
        what: "one projection",
        against: &[
            Against::Peer {
                case: "point-eager",
                what: "PyTorch, eager",
                times: Some(80.0),
            },
            Against::Peer {
                case: "point-onnx",
                what: "ONNX Runtime",
                times: Some(9.0),
            },
            Against::Peer {
                case: "point-released",
                what: "released style: array to array",
                times: None,
            },
        ],
    },
    Group {
        name: "small-point",
        what: "one projection, small networks (32 wide, 3 deep)",
        against: &[Against::Limit { seconds: 0.4e-6 }],
    },
    Group {
        name: "batch",
        what: "65,536 projections",
        against: &[
            Against::Peer {
                case: "batch-onnx",
                what: "ONNX Runtime",
                times: Some(1.8),
            },
            Against::Peer {
                case: "batch-eager",
                what: "PyTorch, eager",
                times: None,
            },
            Against::Peak { share: 0.75 },
        ],
    },
    Group {
        name: "answer",
        what: "solver network and projection for one quadratic problem",
        against: &[
            Against::Peer {
                case: "answer-released",
                what: "released style: arrays to array",
                times: None,
            },
            Against::Peer {
                case: "answer-eager",
                what: "PyTorch, eager",
                times: None,
            },
        ],
    },
    Group {
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
    },
    Group {
        name: "phase-two",
        what: "step of phase 2, batch 256",
        against: &[
            Against::Peer {
                case: "phase-two-vectorised",
                what: "vectorised PyTorch: pushed tangents, fused Adam",
                times: Some(3.0),
            },
            Against::Peer {
                case: "phase-two-compiled",
                what: "the same, compiled",
                times: Some(3.0),
            },
            Against::Peer {
                case: "phase-two-released",
                what: "released style: a Jacobian per row",
                times: Some(25.0),
            },
        ],
    },
];
