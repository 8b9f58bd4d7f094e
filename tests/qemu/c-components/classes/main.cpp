// C++: static constructors, virtual functions, templates, new and delete; provides an interface.
#include <bulkhead.h>
#include <stdio.h>

namespace {

struct Answer {
    int value;
    Answer() : value(42) {}
};

Answer answer;

class Shape {
public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

class Circle final : public Shape {
    double radius;

public:
    explicit Circle(double radius) : radius(radius) {}
    double area() const override { return 3.14159265358979 * radius * radius; }
};

template <typename T> T twice(T value) { return value + value; }

uint64_t doubling(uint64_t, const uint64_t message[5])
{
    return twice(message[0]);
}

} // namespace

BULKHEAD_SERVE(doubling)

int main()
{
    double sum = 0;
    for (int number = 0; number < 1000; number++) {
        Shape *shape = new Circle(2.0);
        sum = shape->area();
        delete shape;
    }
    printf("classes: constructed %d, sum of areas %.3f\n", answer.value, sum);
    bulkhead_up();
    bulkhead_periodic task;
    bulkhead_periodic_start(&task, "classes", 10000000);
    for (;;)
        bulkhead_trace_signal("area", bulkhead_periodic_wait(&task), sum);
}
