// Copy construction and destruction of private objects, exceptions inside regions and tasks,
// threads of the standard library as leaders.
#include "../check.h"
#include <atomic>
#include <exception>
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

// Tasks that let others run inside their handlers: they go on in another order and on other threads,
// each with its own exceptions.
static void handlers_interleave() {
  std::atomic<int> right{0};
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 64; i++) {
#pragma omp task shared(right)
    {
      std::string own = "number " + std::to_string(i) + ", too long for a small string";
      try {
        try {
          throw std::runtime_error(own);
        } catch (std::runtime_error &) {
#pragma omp taskyield
#pragma omp task firstprivate(i)
          work(i * 37 % 64 * 20);
#pragma omp taskwait
#pragma omp taskyield
          throw;
        }
      } catch (std::runtime_error &error) {
        right += error.what() == own && std::uncaught_exceptions() == 0;
      }
    }
  }
  CHECK(right == 64, "%d of 64 handlers", right.load());
}

// Copy constructors that wait: the creator may go on elsewhere before its task is complete.
struct Waiting {
  int value;
  explicit Waiting(int v) : value(v) {}
  Waiting(const Waiting &other) : value(other.value) {
#pragma omp critical(copying)
    work(200);
#pragma omp taskyield
  }
};

static void waiting_copies() {
  std::atomic<int> sum{0};
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 40; i++) {
#pragma omp task shared(sum)
    {
      Waiting object(i);
      for (int k = 0; k < 20; k++) {
#pragma omp task firstprivate(object) shared(sum)
        sum += object.value;
#pragma omp task firstprivate(object) shared(sum) if (k % 2)
        sum += object.value;
      }
#pragma omp taskwait
    }
  }
  CHECK(sum == 40 * 39 / 2 * 40, "%d", sum.load());
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
  handlers_interleave();
  waiting_copies();
  leaders();
  return VERDICT();
}
