/* A compound double pendulum in space: see `_spatial.two_bodies`. */
#define NY 14
#define NZ 12
#define NG 6
#define NK 0
#include "driver.h"

static void velocity(const double *y, const double *z, double *v) {
  for (int i = 0; i < 2; i++) {
    const double *p = y + 7 * i + 3, *w = z + 6 * i + 3;
    double *q = v + 7 * i;
    for (int k = 0; k < 3; k++) q[k] = z[6 * i + k];
    q[3] = -0.5 * (p[1] * w[0] + p[2] * w[1] + p[3] * w[2]);
    q[4] = 0.5 * (p[0] * w[0] + p[2] * w[2] - p[3] * w[1]);
    q[5] = 0.5 * (p[0] * w[1] + p[3] * w[0] - p[1] * w[2]);
    q[6] = 0.5 * (p[0] * w[2] + p[1] * w[1] - p[2] * w[0]);
  }
}

static void masses(const double *p, double *m) {
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 3; k++) {
      m[6 * i + k] = p[i];
      m[6 * i + 3 + k] = p[i] * p[2 + k];
    }
}

static void force(double t, const double *y, const double *z, const double *p, double *f) {
  (void)t, (void)y;
  for (int i = 0; i < 2; i++) {
    const double *v = z + 6 * i, *w = v + 3;
    double *own = f + 6 * i, L[3];
    for (int k = 0; k < 3; k++) own[k] = -p[6] * v[k], L[k] = p[i] * p[2 + k] * w[k];
    own[2] -= p[i] * p[5];
    own[3] = w[2] * L[1] - w[1] * L[2] - p[7] * w[0];
    own[4] = w[0] * L[2] - w[2] * L[0] - p[7] * w[1];
    own[5] = w[1] * L[0] - w[0] * L[1] - p[7] * w[2] + (i ? 0 : p[8]);
  }
}

/* The axes of a body, as columns of R. */
static void axes(const double *p, double R[3][3]) {
  double a = p[0], b = p[1], c = p[2], d = p[3];
  R[0][0] = 1 - 2 * (c * c + d * d), R[0][1] = 2 * (b * c - a * d), R[0][2] = 2 * (b * d + a * c);
  R[1][0] = 2 * (b * c + a * d), R[1][1] = 1 - 2 * (b * b + d * d), R[1][2] = 2 * (c * d - a * b);
  R[2][0] = 2 * (b * d - a * c), R[2][1] = 2 * (c * d + a * b), R[2][2] = 1 - 2 * (b * b + c * c);
}

/* A point at `s` on the third axis of body `i`, `scale` times, in three rows from `row` on. */
static void point(const double *y, const double *z, double R[3][3], int i, double s, double scale,
                  int row, Constraints *at) {
  const double *x = y + 7 * i, *v = z + 6 * i, *w = v + 3;
  double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  double acceleration[3] = {s * w[0] * w[2], s * w[1] * w[2], s * (w[2] * w[2] - square)};
  for (int k = 0; k < 3; k++) {
    double rate = s * (R[k][0] * w[1] - R[k][1] * w[0]), bias = 0;
    for (int j = 0; j < 3; j++) bias += R[k][j] * acceleration[j];
    at->g[row + k] += scale * (x[k] + s * R[k][2]);
    at->b[row + k] += scale * (v[k] + rate);
    at->bias[row + k] += scale * bias;
    at->C[row + k][6 * i + k] += scale;
    at->C[row + k][6 * i + 3] -= scale * s * R[k][1];
    at->C[row + k][6 * i + 4] += scale * s * R[k][0];
  }
}

static void constraints(const double *y, const double *z, const double *p, Constraints *at) {
  double first[3][3], second[3][3];
  memset(at, 0, sizeof *at);
  axes(y + 3, first);
  axes(y + 10, second);
  point(y, z, first, 0, 0.4, p[9], 0, at);
  point(y, z, first, 0, -0.4, 1, 3, at);
  point(y, z, second, 1, 0.3, -1, 3, at);
}
