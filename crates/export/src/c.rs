//! One C99 file that projects: weights and code, no allocation, nothing but `math.h`.

use std::fmt::Write;

use fabproj_core::{
    Activation, Chart, Equations, Frame, LatentSet, Network, Weights, WeightsError,
};

/// Why no C was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The prefix of the functions is not a C identifier.
    #[error("`{name}` cannot begin a name in C; use a letter, then letters, digits and _")]
    Name {
        /// The prefix.
        name: String,
    },
    /// The weights cannot run.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// What every file holds: layers, activations, softmax and the maps onto latent sets.
const RUNTIME: &str = include_str!("runtime.c");

/// Chooses the chart; only for files with several.
const CHOOSE: &str = "\
static size_t fab_choose(const fab_network *gate, const float *centre, const float *scale, const float *y,
                         const float *x, size_t x_dim) {
    float entered[FAB_INNER], inputs[FAB_INPUTS], logits[FAB_WIDEST];
    fab_enter(y, centre, scale, entered, FAB_INNER);
    fab_join(entered, FAB_INNER, x, x_dim, inputs);
    fab_forward(gate, inputs, logits);
    return fab_largest(logits, fab_outputs(gate));
}
";

/// The text of a C99 file with the function `NAME_project`.
///
/// # Errors
/// [`NameError`] for a name that C does not allow, or weights that cannot run.
///
/// ```
/// use fabproj_core::{LatentSet, Weights};
///
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let source = fabproj_export::c(&Weights::identity(2, disc), "disc")?;
/// assert!(source.contains("#define DISC_DIM 2"));
/// assert!(fabproj_export::c(&Weights::identity(2, disc), "2d").is_err());
/// # Ok::<(), fabproj_export::NameError>(())
/// ```
pub fn c(weights: &Weights, name: &str) -> Result<String, NameError> {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    if !begins || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return Err(NameError::Name { name: name.into() });
    }
    weights.validate()?;
    let mut source = Source {
        text: String::new(),
    };
    source.head(weights, name);
    source.text.push_str(RUNTIME);
    source.tables(weights);
    source.project(weights, name);
    Ok(source.text)
}

struct Source {
    text: String,
}

impl Source {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn head(&mut self, weights: &Weights, name: &str) {
        let dim = weights
            .equations
            .as_ref()
            .map_or(weights.dim, Equations::dim);
        let (upper, x_dim) = (name.to_ascii_uppercase(), weights.x_dim);
        let version = env!("CARGO_PKG_VERSION");
        let widest = networks(weights).flat_map(|network| &network.layers);
        let widest = widest
            .map(|layer| layer.inputs.max(layer.outputs))
            .max()
            .unwrap_or(1);
        let latent = weights
            .charts
            .iter()
            .map(|chart| chart.encoder.outputs())
            .max()
            .unwrap_or(1);
        let decoders = weights
            .charts
            .iter()
            .map(|chart| chart.decoders.len())
            .max()
            .unwrap_or(1);
        let text = format!(
            "/* Written by fabproj {version}: a projection onto a feasible set, in C99.\n\
             \n   int {name}_project(const float *y, const float *x, float *out);\n\
             \n   y and out hold {upper}_DIM numbers and may be the same; x holds {upper}_X_DIM (NULL if that is 0).\n   \
             Returns 0 if the latent point was inside, 1 if it was moved, 2 if numbers were not finite: out is\n   \
             then a fixed point. Outputs are not tested. No allocation, no global state: threads may share it. */\n\
             \n#include <math.h>\n#include <stddef.h>\n\
             \n#define {upper}_DIM {dim}\n#define {upper}_X_DIM {x_dim}\n\
             \nint {name}_project(const float *y, const float *x, float *out);\n\
             \n#define FAB_WIDEST {widest}\n#define FAB_INPUTS {inputs}\n#define FAB_LATENT {latent}\n\
             #define FAB_DECODERS {decoders}\n#define FAB_INNER {inner}\n",
            inputs = (weights.dim + x_dim).max(latent + x_dim),
            inner = weights.dim,
        );
        self.line(text);
    }

    fn floats(&mut self, name: &str, values: &[f32]) {
        let numbers = values.iter().map(|value| format!("{value:e}f"));
        self.array("float", name, numbers);
    }

    fn array(&mut self, kind: &str, name: &str, numbers: impl Iterator<Item = String>) {
        let mut line = format!("static const {kind} {name}[] = {{");
        let mut width = 0;
        for (index, number) in numbers.enumerate() {
            if index > 0 {
                line.push(',');
            }
            if index == 0 || width > 90 {
                line.push_str("\n    ");
                width = 0;
            } else {
                line.push(' ');
            }
            width += number.len() + 2;
            line.push_str(&number);
        }
        line.push_str("\n};");
        self.line(line);
    }

    fn frame(&mut self, name: &str, frame: &Frame) {
        self.floats(&format!("{name}_centre"), &frame.centre);
        self.floats(&format!("{name}_scale"), &frame.scale);
    }

    fn network(&mut self, name: &str, network: &Network) {
        let mut layers = String::new();
        for (index, layer) in network.layers.iter().enumerate() {
            let (inputs, outputs) = (layer.inputs, layer.outputs);
            let weights = by_input(&layer.weights, inputs);
            self.floats(&format!("{name}_w{index}"), &weights);
            self.floats(&format!("{name}_b{index}"), &layer.bias);
            // Writing to text does not fail.
            let _ = write!(
                layers,
                "\n    {{ {inputs}, {outputs}, {name}_w{index}, {name}_b{index} }},"
            );
        }
        self.line(format!(
            "static const fab_layer {name}_layers[] = {{{layers}\n}};"
        ));
        let (skip, skip_inputs) = match &network.skip {
            Some(skip) => {
                let inputs = skip.len() / network.outputs().max(1);
                self.floats(&format!("{name}_skip"), &by_input(skip, inputs));
                (format!("{name}_skip"), inputs)
            }
            None => ("NULL".to_owned(), 0),
        };
        self.line(format!(
            "static const fab_network {name} = {{ {}, {name}_layers, {}, {}, {skip}, {skip_inputs} }};",
            network.layers.len(),
            activation(network.hidden),
            activation(network.output),
        ));
    }

    fn tables(&mut self, weights: &Weights) {
        if weights.x_dim > 0 {
            self.frame("x_frame", &weights.x_frame);
        }
        if let Some(gate) = &weights.gate {
            self.frame("frame", &weights.frame);
            self.network("gate", gate);
            self.line(CHOOSE);
        }
        for (index, chart) in weights.charts.iter().enumerate() {
            self.chart(&format!("chart{index}"), chart);
        }
        let charts: Vec<_> = (0..weights.charts.len())
            .map(|index| chart_row(index, &weights.charts[index]))
            .collect();
        self.line(format!(
            "static const fab_chart charts[] = {{\n{}\n}};",
            charts.join("\n")
        ));
        let fallback = match weights.anchors.first() {
            Some(anchor) => &anchor.point,
            None => &weights.frame.centre,
        };
        self.floats("fallback", fallback);
        if let Some(equations) = &weights.equations {
            for (name, values) in [
                ("origin", &equations.origin),
                ("basis", &equations.basis),
                ("by_x", &equations.by_x),
            ] {
                if !values.is_empty() {
                    self.array(
                        "double",
                        name,
                        values.iter().map(|value| format!("{value:e}")),
                    );
                }
            }
        }
    }

    fn chart(&mut self, name: &str, chart: &Chart) {
        self.frame(name, &chart.frame);
        self.network(&format!("{name}_encoder"), &chart.encoder);
        let mut decoders = Vec::new();
        for (index, decoder) in chart.decoders.iter().enumerate() {
            let decoder_name = format!("{name}_decoder{index}");
            self.network(&decoder_name, decoder);
            decoders.push(format!("&{decoder_name}"));
        }
        let decoders = decoders.join(", ");
        self.line(format!(
            "static const fab_network *const {name}_decoders[] = {{ {decoders} }};"
        ));
        if let Some(gate) = &chart.decoder_gate {
            self.network(&format!("{name}_gate"), gate);
        }
    }

    fn project(&mut self, weights: &Weights, name: &str) {
        let upper = name.to_ascii_uppercase();
        let has_x = weights.x_dim > 0;
        self.line(format!(
            "\nint {name}_project(const float *y, const float *x, float *out) {{"
        ));
        self.line(
            "    float point[FAB_INNER], entered_x[FAB_INPUTS], inner[FAB_INNER];\n    size_t i, chart = 0;\n    int outcome;",
        );
        if has_x {
            self.line(format!(
                "    if (!fab_finite(y, {upper}_DIM) || !fab_finite(x, {upper}_X_DIM)) goto not_finite;\n    \
                 fab_enter(x, x_frame_centre, x_frame_scale, entered_x, {upper}_X_DIM);"
            ));
        } else {
            self.line(format!(
                "    (void)x;\n    entered_x[0] = 0.0f;\n    if (!fab_finite(y, {upper}_DIM)) goto not_finite;"
            ));
        }
        match &weights.equations {
            None => self.line("    for (i = 0; i < FAB_INNER; ++i) point[i] = y[i];"),
            Some(_) => self.lowered(&upper, has_x),
        }
        if weights.gate.is_some() {
            self.line(format!("    chart = fab_choose(&gate, frame_centre, frame_scale, point, entered_x, {upper}_X_DIM);"));
        }
        self.line(format!(
            "    outcome = fab_run(&charts[chart], point, entered_x, {upper}_X_DIM, inner);"
        ));
        self.line("    if (!fab_finite(inner, FAB_INNER)) goto not_finite;\n    goto done;");
        self.line("not_finite:\n    outcome = 2;\n    for (i = 0; i < FAB_INNER; ++i) inner[i] = fallback[i];\ndone:");
        match &weights.equations {
            None => self.line("    for (i = 0; i < FAB_INNER; ++i) out[i] = inner[i];"),
            Some(_) => self.raised(&upper, has_x),
        }
        self.line("    return outcome;\n}");
    }

    /// Reduced coordinates, in double precision.
    fn lowered(&mut self, upper: &str, has_x: bool) {
        let foot = foot(upper, has_x);
        self.line(format!(
            "    for (i = 0; i < FAB_INNER; ++i) {{\n        double sum = 0.0;\n        size_t row;\n        \
             for (row = 0; row < {upper}_DIM; ++row) {{\n            double foot = origin[row];\n{foot}            \
             sum += basis[row * FAB_INNER + i] * ((double)y[row] - foot);\n        }}\n        \
             point[i] = (float)sum;\n    }}"
        ));
    }

    fn raised(&mut self, upper: &str, has_x: bool) {
        // Where x is not finite there is no point that obeys the equations: then they are those at the centre of x.
        let foot = if has_x {
            format!(
                "            size_t j;\n            for (j = 0; j < {upper}_X_DIM; ++j)\n                \
                 foot += by_x[row * {upper}_X_DIM + j] *\n                        \
                 (double)(x[j] - x[j] == 0.0f ? x[j] : x_frame_centre[j]);\n"
            )
        } else {
            String::new()
        };
        self.line(format!(
            "    {{\n        size_t row;\n        for (row = 0; row < {upper}_DIM; ++row) {{\n            \
             double foot = origin[row];\n{foot}            for (i = 0; i < FAB_INNER; ++i)\n                \
             foot += basis[row * FAB_INNER + i] * (double)inner[i];\n            out[row] = (float)foot;\n        \
             }}\n    }}"
        ));
    }
}

/// A matrix with a row for each output, as one with a row for each input.
fn by_input(matrix: &[f32], inputs: usize) -> Vec<f32> {
    let columns = (0..inputs).map(|input| matrix.iter().skip(input).step_by(inputs));
    columns.flatten().copied().collect()
}

fn foot(upper: &str, has_x: bool) -> String {
    if !has_x {
        return String::new();
    }
    format!(
        "            size_t j;\n            for (j = 0; j < {upper}_X_DIM; ++j)\n                \
         foot += by_x[row * {upper}_X_DIM + j] * (double)x[j];\n"
    )
}

fn chart_row(index: usize, chart: &Chart) -> String {
    let (kind, inner, outer, smooth) = match chart.latent {
        LatentSet::Ball { radius, smooth } => ("FAB_RADIAL", 0.0, radius, smooth),
        LatentSet::Shell {
            inner,
            outer,
            smooth,
        } => ("FAB_RADIAL", inner, outer, smooth),
        LatentSet::Box { half, smooth } => ("FAB_BOX", 0.0, half, smooth),
        LatentSet::Simplex { sharpness } => ("FAB_SIMPLEX", 0.0, 0.0, Some(sharpness)),
    };
    let gate = match chart.decoder_gate {
        Some(_) => format!("&chart{index}_gate"),
        None => "NULL".to_owned(),
    };
    format!(
        "    {{ chart{index}_centre, chart{index}_scale, &chart{index}_encoder, chart{index}_decoders, {}, {gate}, \
         {kind}, {inner:e}, {outer:e}, {:e} }},",
        chart.decoders.len(),
        smooth.unwrap_or(0.0),
    )
}

fn activation(activation: Activation) -> &'static str {
    match activation {
        Activation::Identity => "FAB_IDENTITY",
        Activation::Relu => "FAB_RELU",
        Activation::Tanh => "FAB_TANH",
        Activation::Silu => "FAB_SILU",
    }
}

fn networks(weights: &Weights) -> impl Iterator<Item = &Network> {
    let charts = weights.charts.iter().flat_map(|chart| {
        chart
            .decoders
            .iter()
            .chain(&chart.decoder_gate)
            .chain([&chart.encoder])
    });
    charts.chain(&weights.gate)
}
