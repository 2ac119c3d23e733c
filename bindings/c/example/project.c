/* Loads a model, projects and guards points, pulls a gradient back.

   cc project.c -I ../include -L ../../../target/release -lfabproj_c -lm -o project
   ./project disc.safetensors                                                        */

#include "fabproj.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int tests = 0;

static bool right_half(const double *y, const double *x, void *context) {
    (void)x;
    ++*(int *)context;
    return y[0] >= 0.0;
}

static void check(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", what, fabproj_last_error());
        exit(1);
    }
}

int main(int count, char **words) {
    const double y[4] = {3.0, 4.0, -3.0, 4.0};
    const double cotangent[4] = {1.0, 0.0, 0.0, 1.0};
    const float single[2] = {3.0f, 4.0f};
    double out[4], gradient[4];
    float single_out[2];
    uint8_t outcomes[2];
    FabprojProjector *projector;
    FabprojGuard *guard;
    size_t i;

    check(count == 2, "usage: project MODEL");
    projector = fabproj_load(words[1]);
    check(projector != NULL, "load");
    check(fabproj_dim(projector) == 2 && fabproj_x_dim(projector) == 0, "dimensions");

    check(fabproj_project(projector, y, NULL, 2, out, outcomes) == 0, "project");
    for (i = 0; i < 2; ++i) printf("projected %.4f %.4f (%d)\n", out[2 * i], out[2 * i + 1], outcomes[i]);
    check(fabproj_project_f32(projector, single, NULL, 1, single_out, NULL) == 0, "project_f32");
    check(fabs((double)single_out[0] - out[0]) < 1e-6, "the same in single precision");
    check(fabproj_vjp(projector, y, NULL, cotangent, 2, gradient, NULL) == 0, "vjp");
    printf("gradient %.4f %.4f\n", gradient[0], gradient[1]);

    guard = fabproj_guard(projector, right_half, &tests);
    check(guard != NULL, "guard");
    fabproj_free(projector);
    check(fabproj_guard_project(guard, y, NULL, 2, out, outcomes) == 0, "guard_project");
    for (i = 0; i < 2; ++i) {
        printf("guarded %.4f %.4f (%d)\n", out[2 * i], out[2 * i + 1], outcomes[i]);
        check(out[2 * i] >= 0.0 && outcomes[i] <= 3, "feasible");
    }
    check(tests > 0, "the test was asked");

    /* What goes wrong is said, and nothing is written. */
    check(fabproj_guard_project(guard, NULL, NULL, 2, out, NULL) == -1, "NULL is refused");
    printf("error: %s\n", fabproj_last_error());
    check(fabproj_project(NULL, y, NULL, 2, out, NULL) == -1, "NULL is refused");
    check(fabproj_load("no-such-file") == NULL, "a missing file is refused");
    printf("error: %s\n", fabproj_last_error());
    check(fabproj_from_bytes((const uint8_t *)"hello", 5) == NULL, "other bytes are refused");
    check(fabproj_guard_project(guard, y, NULL, (size_t)-1, out, NULL) == -1, "too many rows are refused");
    fabproj_guard_free(guard);
    fabproj_guard_free(NULL);
    fabproj_free(NULL);
    printf("fabproj %s\n", fabproj_version());
    return 0;
}
