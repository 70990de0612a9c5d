/* A Scotch yoke: see `_linkages.yoke`. */
#define NY 4
#define NZ 4
#define NG 3
#define NK 0
#define PLAIN
#include "driver.h"

static void masses(const double *p, double *m) {
  m[0] = p[0], m[1] = m[2] = p[1], m[3] = p[2];
}

static void force(double t, const double *y, const double *z, const double *p, double *f) {
  (void)t;
  f[0] = p[4] - p[5] * z[0];
  f[1] = 0;
  f[2] = -p[1] * p[9];
  f[3] = -p[6] * (y[3] - p[7]) - p[8] * z[3];
}

static void constraints(const double *y, const double *z, const double *p, Constraints *at) {
  double x = p[3] * cos(y[0]), h = p[3] * sin(y[0]);
  at->g[0] = y[1] - x, at->g[1] = y[2] - h, at->g[2] = y[3] - y[1];
  memset(at->C, 0, sizeof at->C);
  at->C[0][0] = h, at->C[0][1] = 1;
  at->C[1][0] = -x, at->C[1][2] = 1;
  at->C[2][1] = -1, at->C[2][3] = 1;
  at->b[0] = h * z[0] + z[1], at->b[1] = z[2] - x * z[0], at->b[2] = z[3] - z[1];
  at->bias[0] = x * z[0] * z[0], at->bias[1] = h * z[0] * z[0], at->bias[2] = 0;
}
