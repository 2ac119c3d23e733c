/* Runs trained projections onto feasible sets. Written by cbindgen from bindings/c/src/lib.rs. */

#ifndef FABPROJ_H
#define FABPROJ_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// A projector whose outputs have passed a membership test.
typedef struct FabprojGuard FabprojGuard;

// A trained projector.
typedef struct FabprojProjector FabprojProjector;

// Whether y is feasible at x. It may be called from every thread that uses the guard, and must neither unwind nor
// jump out of the call.
typedef bool (*FabprojContains)(const double *y, const double *x, void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Why the last call of this thread failed; empty if none has. Valid until the next call of this thread.
const char *fabproj_last_error(void);

// The version of the library.
const char *fabproj_version(void);

// Reads a model file. NULL if that fails; to be freed with `fabproj_free`.
//
// # Safety
// `path` must be NULL or a text that ends with 0.
FabprojProjector *fabproj_load(const char *path);

// Reads the bytes of a model file. NULL if that fails; to be freed with `fabproj_free`.
//
// # Safety
// `bytes` must point to `length` bytes.
FabprojProjector *fabproj_from_bytes(const uint8_t *bytes, size_t length);

// Frees a projector; NULL is allowed. Guards made from it stay usable.
//
// # Safety
// `projector` must come from this library and not be used any more.
void fabproj_free(FabprojProjector *projector);

// The dimension of y; 0 for NULL.
//
// # Safety
// `projector` must be NULL or come from this library.
size_t fabproj_dim(const FabprojProjector *projector);

// The dimension of x; 0 for a fixed set and for NULL.
//
// # Safety
// `projector` must be NULL or come from this library.
size_t fabproj_x_dim(const FabprojProjector *projector);

// Projects rows of y at rows of x (NULL for a fixed set) into `out`, which must not overlap them. Returns 0, or -1
// if that fails. `outcomes` is NULL or gets one number per row: 0 inside, 1 clamped, 2 not finite.
//
// # Safety
// `y` and `out` must hold `rows` times `fabproj_dim` numbers, `x` `rows` times `fabproj_x_dim`, `outcomes` `rows`
// bytes.
int fabproj_project(const FabprojProjector *projector,
                    const double *y,
                    const double *x,
                    size_t rows,
                    double *out,
                    uint8_t *outcomes);

// `fabproj_project` in single precision.
//
// # Safety
// As for `fabproj_project`.
int fabproj_project_f32(const FabprojProjector *projector,
                        const float *y,
                        const float *x,
                        size_t rows,
                        float *out,
                        uint8_t *outcomes);

// Pulls `cotangent`, the gradient of a loss with respect to the projections of rows, back to y and x. `d_x` is
// NULL if it is not wanted. Returns 0, or -1 if that fails.
//
// # Safety
// As for `fabproj_project`; `cotangent` and `d_y` are as long as `y`, `d_x` is as long as `x`.
int fabproj_vjp(const FabprojProjector *projector,
                const double *y,
                const double *x,
                const double *cotangent,
                size_t rows,
                double *d_y,
                double *d_x);

// Guards a projector by a callback. NULL if that fails, as where no feasible point is found; to be freed with
// `fabproj_guard_free`. The projector may be freed before.
//
// # Safety
// `projector` must come from this library. `contains` must be callable with `context` as long as the guard lives,
// from every thread that uses it.
FabprojGuard *fabproj_guard(const FabprojProjector *projector,
                            FabprojContains contains,
                            void *context);

// Frees a guard; NULL is allowed.
//
// # Safety
// `guard` must come from this library and not be used any more.
void fabproj_guard_free(FabprojGuard *guard);

// `fabproj_project` with outputs that have passed the test. `outcomes` gets 0 kept, 1 projected, 2 repaired, 3
// anchored; 4 maybe empty and 5 not finite are outputs that have **not** passed.
//
// # Safety
// As for `fabproj_project`.
int fabproj_guard_project(const FabprojGuard *guard,
                          const double *y,
                          const double *x,
                          size_t rows,
                          double *out,
                          uint8_t *outcomes);

// `fabproj_guard_project` in single precision; the callback sees the numbers that are returned.
//
// # Safety
// As for `fabproj_project`.
int fabproj_guard_project_f32(const FabprojGuard *guard,
                              const float *y,
                              const float *x,
                              size_t rows,
                              float *out,
                              uint8_t *outcomes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FABPROJ_H */
