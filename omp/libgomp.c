/* What Rust has no words for: variable arguments, symbol versions, a load-time hook.

   The hook reads the environment before main, so that OMP_DISPLAY_ENV and warnings come at load,
   and refuses a program that needs a GOMP, GOACC or omp_ function that is not here, by its name:
   lazy binding would stop it in the middle instead.

   In the static library (BULKHEAD_OMP_STATIC) there are no versions, and the linker refuses. */

#define _GNU_SOURCE
#include <stdarg.h>
#ifndef BULKHEAD_OMP_STATIC
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#endif

extern unsigned bulkhead_omp_doacross_depth(void);
extern void bulkhead_omp_doacross_wait(const unsigned long *index);
extern void bulkhead_omp_start(void);
extern void bulkhead_omp_stop(void);

#define MAX_DEPTH 16

#define DEFINE_DOACROSS_WAIT(NAME, TYPE)                                      \
  void NAME(TYPE first, ...) {                                                \
    unsigned long index[MAX_DEPTH] = {(unsigned long)first};                  \
    unsigned depth = bulkhead_omp_doacross_depth();                           \
    va_list rest;                                                             \
    va_start(rest, first);                                                    \
    for (unsigned i = 1; i < depth && i < MAX_DEPTH; i++)                     \
      index[i] = (unsigned long)va_arg(rest, TYPE);                           \
    va_end(rest);                                                             \
    bulkhead_omp_doacross_wait(index);                                        \
  }

DEFINE_DOACROSS_WAIT(GOMP_doacross_wait, long)
DEFINE_DOACROSS_WAIT(GOMP_doacross_ull_wait, unsigned long long)

#ifdef BULKHEAD_OMP_STATIC

__attribute__((constructor)) static void load(void) { bulkhead_omp_start(); }

#else

/* OMP_1.0 (before GCC 4.4): simple locks are the same; a nestable lock had eight bytes, which is
   what Fortran's still has: the address of the lock. */
#define OLD(RESULT, NAME, TARGET, ARGUMENT)                                   \
  extern RESULT TARGET(ARGUMENT *);                                           \
  RESULT NAME##_1_0(ARGUMENT *lock) { return TARGET(lock); }                  \
  __asm__(".symver " #NAME "_1_0," #NAME "@OMP_1.0");

#define OLD_LOCK(RESULT, NAME)                                                \
  OLD(RESULT, NAME, NAME, void)                                               \
  OLD(RESULT, NAME##_, NAME##_, void)

#define OLD_NEST_LOCK(RESULT, NAME)                                           \
  OLD(RESULT, NAME, NAME##_, void)                                            \
  RESULT NAME##__1_0(void *lock) { return NAME##_(lock); }                    \
  __asm__(".symver " #NAME "__1_0," #NAME "_@OMP_1.0");

OLD_LOCK(void, omp_init_lock)
OLD_LOCK(void, omp_destroy_lock)
OLD_LOCK(void, omp_set_lock)
OLD_LOCK(void, omp_unset_lock)
OLD_LOCK(int, omp_test_lock)
OLD_NEST_LOCK(void, omp_init_nest_lock)
OLD_NEST_LOCK(void, omp_destroy_nest_lock)
OLD_NEST_LOCK(void, omp_set_nest_lock)
OLD_NEST_LOCK(void, omp_unset_nest_lock)
OLD_NEST_LOCK(int, omp_test_nest_lock)

static int is_ours(const char *name) {
  return !strncmp(name, "GOMP_", 5) || !strncmp(name, "GOACC_", 6) || !strncmp(name, "omp_", 4) ||
         !strncmp(name, "acc_", 4);
}

static ElfW(Addr) dynamic(const struct link_map *object, ElfW(Sxword) tag) {
  for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == tag)
      return entry->d_un.d_ptr;
  return 0;
}

/* Undefined symbols stand before those that the GNU hash table sorts. */
static void check_object(const struct link_map *object) {
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic(object, DT_SYMTAB);
  const char *names = (const char *)dynamic(object, DT_STRTAB);
  const Elf32_Word *hash = (const Elf32_Word *)dynamic(object, DT_GNU_HASH);
  if (!symbols || !names || !hash || (ElfW(Addr))symbols < object->l_addr)
    return;
  for (Elf32_Word i = 1; i < hash[1]; i++) {
    const char *name = names + symbols[i].st_name;
    int weak = ELF64_ST_BIND(symbols[i].st_info) == STB_WEAK;
    if (symbols[i].st_shndx != SHN_UNDEF || weak || !is_ours(name) || dlsym(RTLD_DEFAULT, name))
      continue;
    const char *file = object->l_name[0] ? object->l_name : "the program";
    fprintf(stderr, "bulkhead-omp: %s needs %s, which this runtime does not have\n", file, name);
    _exit(127);
  }
}

__attribute__((constructor)) static void load(void) {
  const struct link_map *objects;
  void *self = dlopen(NULL, RTLD_LAZY);
  if (self && !dlinfo(self, RTLD_DI_LINKMAP, &objects))
    for (; objects; objects = objects->l_next)
      check_object(objects);
  bulkhead_omp_start();
}

#endif

__attribute__((destructor)) static void unload(void) { bulkhead_omp_stop(); }
