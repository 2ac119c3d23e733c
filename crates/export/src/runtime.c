enum { FAB_IDENTITY, FAB_RELU, FAB_TANH, FAB_SILU };
enum { FAB_LANES = 16 };
enum { FAB_RADIAL, FAB_BOX, FAB_SIMPLEX };

typedef struct {
    size_t inputs, outputs;
    const float *weights, *bias; /* weights[input][output] */
} fab_layer;

typedef struct {
    size_t count;
    const fab_layer *layers;
    int hidden, output;
    const float *skip; /* skip[input][output], of the first inputs */
    size_t skip_inputs;
} fab_network;

typedef struct {
    const float *centre, *scale;
    const fab_network *encoder;
    const fab_network *const *decoders;
    size_t decoder_count;
    const fab_network *gate;
    int kind;
    double inner, outer, smooth; /* smooth is 0 for the hard map */
} fab_chart;

static int fab_finite(const float *values, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i)
        if (!(values[i] - values[i] == 0.0f)) return 0;
    return 1;
}

static void fab_enter(const float *values, const float *centre, const float *scale, float *out, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i) out[i] = (values[i] - centre[i]) / scale[i];
}

static float fab_activate(int activation, float value) {
    switch (activation) {
    case FAB_RELU: return value > 0.0f ? value : 0.0f;
    case FAB_TANH: return tanhf(value);
    case FAB_SILU: return value / (1.0f + expf(-value));
    default: return value;
    }
}

/* Adds a matrix times a vector to `out`. FAB_LANES sums at a time stay in registers, and compilers use
   vector instructions for them. */
static void fab_add(const float *matrix, const float *from, size_t inputs, float *out, size_t outputs) {
    size_t i, k, o;
    for (o = 0; o + FAB_LANES <= outputs; o += FAB_LANES) {
        float sums[FAB_LANES];
        for (k = 0; k < FAB_LANES; ++k) sums[k] = out[o + k];
        for (i = 0; i < inputs; ++i) {
            const float *row = &matrix[i * outputs + o];
            for (k = 0; k < FAB_LANES; ++k) sums[k] += row[k] * from[i];
        }
        for (k = 0; k < FAB_LANES; ++k) out[o + k] = sums[k];
    }
    for (; o < outputs; ++o)
        for (i = 0; i < inputs; ++i) out[o] += matrix[i * outputs + o] * from[i];
}

static void fab_forward(const fab_network *network, const float *inputs, float *out) {
    float first[FAB_WIDEST], second[FAB_WIDEST];
    const float *from = inputs;
    size_t layer, o;
    for (layer = 0; layer < network->count; ++layer) {
        const fab_layer *at = &network->layers[layer];
        int last = layer + 1 == network->count, activation = last ? network->output : network->hidden;
        float *to = last ? out : layer % 2 == 0 ? first : second;
        for (o = 0; o < at->outputs; ++o) to[o] = at->bias[o];
        fab_add(at->weights, from, at->inputs, to, at->outputs);
        if (last) fab_add(network->skip, inputs, network->skip_inputs, to, at->outputs);
        for (o = 0; o < at->outputs; ++o) to[o] = fab_activate(activation, to[o]);
        from = to;
    }
}

static size_t fab_outputs(const fab_network *network) {
    return network->layers[network->count - 1].outputs;
}

static size_t fab_largest(const float *values, size_t count) {
    size_t i, best = 0;
    for (i = 1; i < count; ++i)
        if (values[i] > values[best]) best = i;
    return best;
}

static void fab_softmax(float *values, size_t count, double sharpness) {
    double top = values[fab_largest(values, count)], sum = 0.0;
    size_t i;
    for (i = 0; i < count; ++i) sum += exp(sharpness * ((double)values[i] - top));
    for (i = 0; i < count; ++i) values[i] = (float)(exp(sharpness * ((double)values[i] - top)) / sum);
}

static double fab_softplus(double value) {
    return (value > 0.0 ? value : 0.0) + log1p(exp(-fabs(value)));
}

/* Moves a latent point into the set; 0 if it was inside. */
static int fab_clamp_radially(const fab_chart *chart, float *z, size_t count) {
    double square = 0.0, norm, target, gain, smooth = chart->smooth;
    size_t i;
    int moved;
    for (i = 0; i < count; ++i) square += (double)z[i] * (double)z[i];
    norm = sqrt(square);
    moved = !(norm >= chart->inner && norm <= chart->outer);
    if (!moved && smooth == 0.0) return 0;
    if (smooth == 0.0) {
        target = norm > chart->outer ? chart->outer : chart->inner;
    } else {
        target = chart->outer - fab_softplus(smooth * (chart->outer - norm)) / smooth;
        if (chart->inner > 0.0) target += fab_softplus(smooth * (chart->inner - norm)) / smooth;
    }
    if (chart->inner > 0.0 && norm < 1e-12) {
        for (i = 0; i < count; ++i) z[i] = i == 0 ? (float)target : 0.0f;
        return moved;
    }
    gain = target / (smooth != 0.0 && chart->inner == 0.0 ? norm + 1e-8 : norm);
    for (i = 0; i < count; ++i) z[i] = (float)((double)z[i] * gain);
    return moved;
}

static int fab_clamp_box(const fab_chart *chart, float *z, size_t count) {
    double half = chart->outer, smooth = chart->smooth;
    size_t i;
    int moved = 0;
    for (i = 0; i < count; ++i) {
        double value = (double)z[i];
        if (!(fabs(value) <= half)) moved = 1;
        if (smooth == 0.0)
            value = value > half ? half : value < -half ? -half : value;
        else
            value = half - fab_softplus(smooth * (half - value)) / smooth + fab_softplus(smooth * (-half - value)) / smooth;
        z[i] = (float)value;
    }
    return moved;
}

static int fab_clamp(const fab_chart *chart, float *z, size_t count) {
    if (chart->kind == FAB_RADIAL) return fab_clamp_radially(chart, z, count);
    if (chart->kind == FAB_BOX) return fab_clamp_box(chart, z, count);
    fab_softmax(z, count, chart->smooth);
    return 1;
}

/* Joins values in units of a frame with x. */
static void fab_join(const float *values, size_t count, const float *x, size_t x_dim, float *out) {
    size_t i;
    for (i = 0; i < count; ++i) out[i] = values[i];
    for (i = 0; i < x_dim; ++i) out[count + i] = x[i];
}

static int fab_run(const fab_chart *chart, const float *y, const float *x, size_t x_dim, float *out) {
    float entered[FAB_INNER], inputs[FAB_INPUTS], latent[FAB_LATENT], shares[FAB_DECODERS], decoded[FAB_INNER];
    size_t i, k, latent_dim = fab_outputs(chart->encoder);
    int moved;
    fab_enter(y, chart->centre, chart->scale, entered, FAB_INNER);
    fab_join(entered, FAB_INNER, x, x_dim, inputs);
    fab_forward(chart->encoder, inputs, latent);
    moved = fab_clamp(chart, latent, latent_dim);
    fab_join(latent, latent_dim, x, x_dim, inputs);
    shares[0] = 1.0f;
    if (chart->gate != NULL) {
        fab_forward(chart->gate, inputs, shares);
        fab_softmax(shares, chart->decoder_count, 1.0);
    }
    for (i = 0; i < FAB_INNER; ++i) out[i] = 0.0f;
    for (k = 0; k < chart->decoder_count; ++k) {
        fab_forward(chart->decoders[k], inputs, decoded);
        for (i = 0; i < FAB_INNER; ++i) out[i] += shares[k] * decoded[i];
    }
    for (i = 0; i < FAB_INNER; ++i) out[i] = out[i] * chart->scale[i] + chart->centre[i];
    return moved;
}
