/* What OpenMP programs have of the C library in a partition. */
#ifndef BULKHEAD_MATH_H
#define BULKHEAD_MATH_H

#define M_PI 3.14159265358979323846

double sin(double x), cos(double x), tan(double x), atan2(double y, double x);
double exp(double x), log(double x), pow(double x, double y), sqrt(double x);
double fabs(double x), floor(double x), ceil(double x);
float fabsf(float x), sqrtf(float x);
#endif
