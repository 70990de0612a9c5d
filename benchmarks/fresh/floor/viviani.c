/* A bead on the curve in which a cylinder cuts a sphere: see `_points.viviani`. */
#define NY 3
#define NZ 3
#define NG 2
#define NK 0
#define PLAIN
#include "driver.h"

static void masses(const double *p, double *m) { m[0] = m[1] = m[2] = p[0]; }

static void force(double t, const double *y, const double *z, const double *p, double *f) {
  for (int k = 0; k < 3; k++) f[k] = -p[2] * z[k] - p[6] * (1 - p[7]) * y[k];
  f[0] += p[8] * sin(p[9] * t);
  f[2] -= p[0] * p[1];
}

static void constraints(const double *y, const double *z, const double *p, Constraints *at) {
  double u = y[0] - p[5];
  at->g[0] = 0.5 * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2] - p[3] * p[3]);
  at->g[1] = 0.5 * (u * u + y[1] * y[1] - p[4] * p[4]);
  at->C[0][0] = y[0], at->C[0][1] = y[1], at->C[0][2] = y[2];
  at->C[1][0] = u, at->C[1][1] = y[1], at->C[1][2] = 0;
  at->b[0] = y[0] * z[0] + y[1] * z[1] + y[2] * z[2];
  at->b[1] = u * z[0] + y[1] * z[1];
  at->bias[1] = z[0] * z[0] + z[1] * z[1];
  at->bias[0] = at->bias[1] + z[2] * z[2];
}
