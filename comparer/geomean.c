/*
 * The geometric mean, to the last bit as benchstat prints it.
 *
 * CSV shows every digit of a geomean, and the libraries differ in the last one. So the logarithm
 * is fdlibm's (e_log.c, as Go uses it) and the exponential is the one of N. Shibata, "Efficient
 * evaluation methods of elementary functions suitable for SIMD computation" (2010): a Taylor
 * series of x/16, squared four times, with fused multiply-adds, as Go has it on x86-64.
 */
#include "comparer/table.h"

#include <math.h>

static double fdlibm_log(double x) {
  static const double odd[] = {6.666666666666735130e-01, 2.857142874366239149e-01,
                               1.818357216161805012e-01, 1.479819860511658591e-01};
  static const double even[] = {3.999999999940941908e-01, 2.222219843214978396e-01,
                                1.531383769920937332e-01};
  const double ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
  int exponent;
  double m = frexp(x, &exponent);
  if (m < M_SQRT1_2) {
    m *= 2;
    exponent--;
  }
  double f = m - 1, k = exponent;
  double s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
  double t1 = s2 * (odd[0] + s4 * (odd[1] + s4 * (odd[2] + s4 * odd[3])));
  double t2 = s4 * (even[0] + s4 * (even[1] + s4 * even[2]));
  double r = t1 + t2, half = 0.5 * f * f;
  return k * ln2_hi - ((half - (s * (half + r) + k * ln2_lo)) - f);
}

/* For |x| below 745, which any logarithm of a double is. */
static double shibata_exp(double x) {
  const double log2_e = 1.4426950408889634073599246810018920;
  const double ln2_hi = 0.69314718055966295651160180568695068359375;
  const double ln2_lo = 0.28235290563031577122588448175013436025525412068e-12;
  /* 1/9! is left out: x/16 is below 0.022. */
  static const double inverse_factorial[] = {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                             1.0 / 24,    1.0 / 6,    0.5,       1};
  double k = nearbyint(x * log2_e);
  double r = fma(-ln2_lo, k, fma(-ln2_hi, k, x)) * 0.0625;
  double series = inverse_factorial[0];
  for (int i = 1; i < 8; i++)
    series = fma(series, r, inverse_factorial[i]);
  /* y = e^r - 1 four times doubled: (1 + y)^2 - 1 = y (y + 2). */
  double y = r * series;
  for (int i = 0; i < 3; i++)
    y *= y + 2;
  return ldexp(fma(y, y + 2, 1), (int)k);
}

double geometric_mean(const double *x, size_t n) {
  double mean = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(x[i] > 0))
      return NAN;
    mean += (fdlibm_log(x[i]) - mean) / (double)(i + 1);
  }
  return n ? shibata_exp(mean) : NAN;
}
