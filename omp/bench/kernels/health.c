/* Villages in a tree, each with a hospital; patients fall ill, wait, are treated or sent up. A task
   per village and step: short, with little work and pointer chasing. */
#include "turns.h"

enum { BRANCHES = 4, LEVELS = 5 };

struct patient {
  struct patient *next;
  int left, visited;
};

struct village {
  struct village *children[BRANCHES];
  struct patient *people, *waiting, *inside, *sent;
  uint64_t seed;
  int level, staff;
  long treated;
};

static void move(struct patient **from, struct patient **to) {
  struct patient *patient = *from;
  *from = patient->next;
  patient->next = *to;
  *to = patient;
}

static struct village *build(int level, uint64_t seed) {
  struct village *village = calloc(1, sizeof *village);
  village->level = level;
  village->seed = seed * 7919 + level;
  village->staff = 1 << level;
  for (int i = 0; i < 20; i++) {
    struct patient *patient = calloc(1, sizeof *patient);
    patient->next = village->people;
    village->people = patient;
  }
  for (int i = 0; level > 0 && i < BRANCHES; i++)
    village->children[i] = build(level - 1, seed * BRANCHES + i + 1);
  return village;
}

static void check_in(struct village *village) {
  for (struct patient **at = &village->people; *at;) {
    if (random32(&village->seed) % 100 < 15) {
      (*at)->left = 3;
      move(at, &village->waiting);
    } else {
      at = &(*at)->next;
    }
  }
}

static void treat(struct village *village) {
  for (struct patient **at = &village->inside; *at;) {
    if (--(*at)->left == 0) {
      village->treated++;
      village->staff++;
      move(at, &village->people);
    } else {
      at = &(*at)->next;
    }
  }
  for (struct patient **at = &village->waiting; *at && village->staff > 0;) {
    if (random32(&village->seed) % 100 < 10 && village->level < LEVELS - 1) {
      move(at, &village->sent);
    } else {
      village->staff--;
      move(at, &village->inside);
    }
  }
}

static void step(struct village *village) {
  for (int i = 0; i < BRANCHES; i++)
    if (village->children[i])
#pragma omp task
      step(village->children[i]);
  treat(village);
  check_in(village);
#pragma omp taskwait
  for (int i = 0; i < BRANCHES; i++) {
    struct village *child = village->children[i];
    while (child && child->sent) {
      child->sent->left = 5;
      move(&child->sent, &village->waiting);
    }
  }
}

static long sum(const struct village *village) {
  long total = village->treated;
  for (int i = 0; i < BRANCHES; i++)
    if (village->children[i])
      total += sum(village->children[i]);
  return total;
}

static void forget(struct patient *patient) {
  while (patient) {
    struct patient *next = patient->next;
    free(patient);
    patient = next;
  }
}

static void demolish(struct village *village) {
  for (int i = 0; i < BRANCHES; i++)
    if (village->children[i])
      demolish(village->children[i]);
  forget(village->people);
  forget(village->waiting);
  forget(village->inside);
  forget(village->sent);
  free(village);
}

int main(int count, char **values) {
  int steps = argument(count, values, 4000);
  struct village *top = build(LEVELS - 1, 1);
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < steps; i++) {
#pragma omp task
    step(top);
#pragma omp taskwait
  }
  stop_clock(sum(top));
  demolish(top);
}
