// Copy construction and destruction of private objects, exceptions inside regions and tasks,
// threads of the standard library as leaders.
#include "../check.h"
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> alive{0};

struct Counted {
  std::string text;
  explicit Counted(const char *t) : text(t) { alive++; }
  Counted(const Counted &other) : text(other.text) { alive++; }
  ~Counted() { alive--; }
};

static void copies() {
  {
    Counted object("a string too long for the small-string buffer, certainly");
#pragma omp parallel firstprivate(object)
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(object)
      {
        CHECK(object.text.size() == 56, "%zu", object.text.size());
        object.text += "!";
      }
    }
#pragma omp parallel
#pragma omp single
#pragma omp taskloop firstprivate(object)
    for (int i = 0; i < 100; i++)
      object.text += std::to_string(i);
  }
  CHECK(alive == 0, "%d objects left", alive.load());
}

static void exceptions() {
  std::atomic<int> caught{0};
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 200; i++) {
#pragma omp task shared(caught)
    {
      try {
        try {
          throw std::runtime_error("inner");
        } catch (std::runtime_error &) {
          // The exception is in flight while the task waits, possibly on another thread's time.
#pragma omp task shared(caught)
          {
            try {
              throw 1;
            } catch (int) {
              caught++;
            }
          }
#pragma omp taskwait
          throw;
        }
      } catch (std::runtime_error &error) {
        CHECK(std::string(error.what()) == "inner");
        caught++;
      }
    }
  }
  CHECK(caught == 400, "%d", caught.load());
}

static void leaders() {
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4; i++)
      threads.emplace_back([&] {
#pragma omp parallel num_threads(3)
        {
          sum++;
#pragma omp for
          for (int k = 0; k < 30; k++)
            sum++;
        }
      });
    for (auto &thread : threads)
      thread.join();
    threads.clear();
  }
  CHECK(sum == 3 * 4 * 33, "%d", sum.load());
}

int main() {
  copies();
  exceptions();
  leaders();
  return VERDICT();
}
