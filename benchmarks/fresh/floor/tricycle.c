/* A frame on two rear wheels and a steered front wheel: see `_rolling.tricycle`. */
#define NY 4
#define NZ 4
#define NG 0
#define NK 2
#define PLAIN
#include "driver.h"

static void masses(const double *p, double *m) {
  m[0] = m[1] = p[0], m[2] = p[1], m[3] = p[2];
}

static void force(double t, const double *y, const double *z, const double *p, double *f) {
  double c = cos(y[2]), s = sin(y[2]), drive = p[4] - p[5] * (z[0] * c + z[1] * s);
  f[0] = drive * c;
  f[1] = drive * s;
  f[2] = 0;
  f[3] = -p[6] * y[3] - p[7] * z[3] + p[8] * sin(p[9] * t);
}

static void constraints(const double *y, const double *z, const double *p, Constraints *at) {
  double c = cos(y[2]), s = sin(y[2]), a = y[2] + y[3], ca = cos(a), sa = sin(a);
  double arm = p[3] * cos(y[3]), turn = z[2] + z[3];
  at->C[0][0] = -s, at->C[0][1] = c, at->C[0][2] = 0, at->C[0][3] = 0;
  at->C[1][0] = -sa, at->C[1][1] = ca, at->C[1][2] = arm, at->C[1][3] = 0;
  at->b[0] = z[1] * c - z[0] * s;
  at->b[1] = z[1] * ca - z[0] * sa + arm * z[2];
  at->bias[0] = -(z[1] * s + z[0] * c) * z[2];
  at->bias[1] = -(z[1] * sa + z[0] * ca) * turn - p[3] * sin(y[3]) * z[3] * z[2];
}
