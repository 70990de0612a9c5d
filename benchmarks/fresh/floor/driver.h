/* DOP853 with projections, as a default `solve` takes its steps, for one mechanism.

   A mechanism defines NY, NZ (coordinates, velocities), NG, NK (holonomic and nonholonomic
   constraints), and the functions declared below; then it includes this file. `table.h` is written
   from the coefficients of the method. The mathematics are those of `jaxspark/_explicit/_field.py`,
   with a diagonal mass matrix m: multipliers by Cholesky factors of C m^-1 C^T. */

#include <math.h>
#include <string.h>

#include "table.h"

#define N (NY + NZ)
#define NC (NG + NK)
#define ROUNDS 3

/* What a mechanism has of a state: b = [gdot; k], its derivative along (1, v, 0), C = b_z, g. */
typedef struct {
  double b[NC], bias[NC], C[NC][NZ], g[NG + 1];
} Constraints;

/* y' = v(y, z), linear in z; of mechanisms that define PLAIN it is z. */
#ifdef PLAIN
static void velocity(const double *y, const double *z, double *v) {
  (void)y;
  memcpy(v, z, NZ * sizeof(double));
}
#else
static void velocity(const double *y, const double *z, double *v);
#endif
static void masses(const double *p, double *m);
static void force(double t, const double *y, const double *z, const double *p, double *f);
static void constraints(const double *y, const double *z, const double *p, Constraints *at);

enum Kind { STAGE, POSITIONS, VELOCITIES };

/* The increment of an evaluation; whether its matrix is positive definite. */
static int evaluate(enum Kind kind, double t, const double *x, const double *p, const double *m,
                    double *increment) {
  const double *y = x, *z = x + NY;
  Constraints at;
  double f[NZ] = {0}, r[NC], S[NC][NC], Cm[NC][NZ], u[NZ];
  constraints(y, z, p, &at);
  if (kind == STAGE) force(t, y, z, p, f);
  for (int i = 0; i < NC; i++) {
    for (int k = 0; k < NZ; k++) Cm[i][k] = at.C[i][k] / m[k];
    double wrong = kind == STAGE ? at.bias[i] : kind == VELOCITIES ? at.b[i] : 0;
    if (kind == POSITIONS && i < NG) wrong = at.g[i];
    for (int k = 0; k < NZ; k++) wrong += Cm[i][k] * f[k];
    r[i] = wrong;
    for (int j = 0; j <= i; j++) {
      double s = 0;
      for (int k = 0; k < NZ; k++) s += Cm[i][k] * at.C[j][k];
      S[i][j] = s;
    }
  }
  for (int i = 0; i < NC; i++) {
    for (int j = 0; j <= i; j++) {
      double s = S[i][j];
      for (int k = 0; k < j; k++) s -= S[i][k] * S[j][k];
      if (i == j && !(s > 0)) return 0;
      S[i][j] = i == j ? 1 / sqrt(s) : s * S[j][j];
    }
    for (int k = 0; k < i; k++) r[i] -= S[i][k] * r[k];
    r[i] *= S[i][i];
  }
  for (int i = NC - 1; i >= 0; i--) {
    for (int k = i + 1; k < NC; k++) r[i] -= S[k][i] * r[k];
    r[i] *= S[i][i];
  }
  for (int k = 0; k < NZ; k++) {
    double s = f[k] / m[k];
    for (int i = 0; i < NC; i++) s -= Cm[i][k] * r[i];
    u[k] = s;
  }
  velocity(y, kind == POSITIONS ? u : z, increment);
  if (kind == VELOCITIES) memset(increment, 0, NY * sizeof(double));
  for (int k = 0; k < NZ; k++) increment[NY + k] = kind == POSITIONS ? 0 : u[k];
  return 1;
}

/* A step; whether its end is on the constraints. */
static int make(double t, double h, const double *x, const double *p, const double *m,
                double K[STAGES][N], double *x1) {
  const double tight = sqrt(2.220446049250313e-16);
  for (int e = 0; e <= STAGES; e++) {
    const double *row = e < STAGES ? A[e] : B;
    int columns = e < STAGES ? e : STAGES;
    double *X = x1;
    for (int k = 0; k < N; k++) {
      double s = 0;
      for (int j = 0; j < columns; j++) s += row[j] * K[j][k];
      X[k] = x[k] + h * s;
    }
    if (e < STAGES && !evaluate(STAGE, t + NODES[e] * h, X, p, m, K[e])) return 0;
  }
  for (int round = 0; round < ROUNDS; round++) {
    double size = 0, all = 0;
    for (int kind = NG ? POSITIONS : VELOCITIES; kind <= VELOCITIES; kind++) {
      double inc[N];
      if (!evaluate(kind, t + h, x1, p, m, inc)) return 0;
      for (int k = 0; k < N; k++) {
        size = fmax(size, fabs(inc[k]) / (1 + fabs(x[k])));
        all += inc[k];
        x1[k] += inc[k];
      }
    }
    if (!isfinite(all)) return 0;
    if (size <= tight) return 1;
  }
  return 0;
}

/* The scaled estimate of `jaxspark/_explicit/_dop853.py`. */
static double error_of(double h, const double *x0, const double *x1, double K[STAGES][N],
                       double tolerance) {
  double fifth = 0, third = 0, scaled = 0;
  for (int k = 0; k < N; k++) {
    double five = 0, three = 0, large = fmax(fabs(x0[k]), fabs(x1[k]));
    for (int j = 0; j < STAGES; j++) {
      five += FIFTH[j] * K[j][k];
      three += THIRD[j] * K[j][k];
    }
    five *= h / (1 + large);
    three *= h / (1 + large);
    fifth += five * five;
    third += three * three;
    scaled += five * five / (tolerance * tolerance);
  }
  double total = fifth + 0.01 * third;
  double share = total > 0 ? sqrt(fifth / total) : 1;
  double factor = 3 * share * fmin(9, 1 + 45 * share * share * share);
  return factor * sqrt(scaled / N);
}

static double first_size(const double *x, const double *p, const double *m, double tolerance,
                         double longest, double probe) {
  double slope[N], later[N], moved[N], d0 = 0, d1 = 0, d2 = 0;
  if (!evaluate(STAGE, 0, x, p, m, slope)) return 0;
  for (int k = 0; k < N; k++) moved[k] = x[k] + probe * slope[k];
  if (!evaluate(STAGE, probe, moved, p, m, later)) return 0;
  for (int k = 0; k < N; k++) {
    double unit = tolerance * (1 + fabs(x[k])), change = (later[k] - slope[k]) / probe;
    d0 += x[k] * x[k] / (unit * unit);
    d1 += slope[k] * slope[k] / (unit * unit);
    d2 += change * change / (unit * unit);
  }
  d0 = sqrt(d0 / N), d1 = sqrt(d1 / N), d2 = sqrt(d2 / N);
  double guess = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
  double bent = pow(0.01 / fmax(fmax(d1, d2), 1e-5), 1.0 / ORDER);
  return fmin(fmin(100 * guess, bent), longest);
}

/* From x at 0 to t1, in place. The number of steps, rejected ones included; -1 if it failed. */
long run(double *x, const double *p, double t1, double tolerance) {
  double K[STAGES][N], x1[N], m[NZ], t = 0, before = 1, wall = -INFINITY, longest = t1 / 10;
  masses(p, m);
  double h = first_size(x, p, m, tolerance, longest, 1e-5 * t1);
  for (long steps = 1; steps < 1000000; steps++) {
    double size = fmin(h, t1 - t), end = size < t1 - t ? t + size : t1;
    int good = make(t, size, x, p, m, K, x1);
    double error = good ? error_of(size, x, x1, K, tolerance) : INFINITY;
    double known = good ? fmax(error, 1e-10) : 1, factor;
    if (error <= 1) {
      factor = 0.9 * pow(known, -0.7 / ORDER) * pow(before, 0.4 / ORDER);
      if (end < wall - 1e-3 * size) factor = fmin(factor, 1);
      before = known;
      t = end;
      memcpy(x, x1, sizeof x1);
      if (t >= t1) return steps;
    } else {
      factor = fmin(0.9 * pow(known, -1.0 / ORDER), 0.9);
      if (good) wall = end;
      else factor = 0.5;
    }
    h = fmin(size * fmax(0.2, fmin(5, factor)), longest);
    if (!(h > 1e-14 * t1)) return -1;
  }
  return -1;
}

/* The same from one start with the parameters of many lanes, which have P each. */
long lanes(const double *x, const double *p, int count, int P, double t1, double tolerance,
           double *ends) {
  long steps = 0;
  for (int i = 0; i < count; i++) {
    memcpy(ends + i * N, x, N * sizeof(double));
    long own = run(ends + i * N, p + i * P, t1, tolerance);
    if (own < 0) return -1;
    steps += own;
  }
  return steps;
}
