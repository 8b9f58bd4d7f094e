/* What Rust has no words for: variable arguments, symbol versions, a load-time hook.

   The hook reads the environment before main, so that OMP_DISPLAY_ENV and warnings come at load.
   A function that is not here is an error when it is called, by its name.

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

/* Shown by the linker beside its own "undefined reference". */
#define CLANG                                                                 \
  "this object was compiled by clang; bulkhead-omp has the interface of gcc -fopenmp, see COMPILERS in libbulkhead-omp(7)"
#define WARN_OF(NAME)                                                         \
  static const char warning_of_##NAME[]                                       \
      __attribute__((used, retain, section(".gnu.warning." #NAME))) = CLANG;
WARN_OF(__kmpc_fork_call)
WARN_OF(__kmpc_global_thread_num)

/* The thread's worker, null before its first construct: a word that src/arch defines, and the first field of src/worker.rs. */
struct worker {
  unsigned long nest;
};
extern __thread const struct worker *bulkhead_omp_worker
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

extern void bulkhead_omp_doacross_wait(const unsigned long *index);
extern void bulkhead_omp_start(void);
extern void bulkhead_omp_stop(void);

/* Without a nest (in a team of one thread) there is nothing to wait for. No variable argument is a floating-point number, so
   that the frame need not have room for their registers. */
#define INTEGERS __attribute__((target("general-regs-only")))
#define DEFINE_DOACROSS_WAIT(NAME, TYPE)                                      \
  static void INTEGERS __attribute__((noinline))                               \
  NAME##_in_nest(unsigned long depth, TYPE first, va_list rest) {             \
    unsigned long index[depth];                                               \
    index[0] = (unsigned long)first;                                          \
    for (unsigned long i = 1; i < depth; i++)                                 \
      index[i] = (unsigned long)va_arg(rest, TYPE);                           \
    bulkhead_omp_doacross_wait(index);                                        \
  }                                                                           \
  INTEGERS void NAME(TYPE first, ...) {                                       \
    const struct worker *worker = bulkhead_omp_worker;                        \
    if (!worker || !worker->nest)                                             \
      return;                                                                 \
    va_list rest;                                                             \
    va_start(rest, first);                                                    \
    NAME##_in_nest(worker->nest, first, rest);                                \
    va_end(rest);                                                             \
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

/* Functions of OpenACC, which this runtime does not have. They are here in old versions only, to which
   nothing but a program that gcc linked with libgomp is bound: another compiler's program finds its
   own library's, also where this one is preloaded. A call ends the program; that the program could
   call one does not. */
static void __attribute__((noreturn)) missing(const char *name) {
  fprintf(stderr, "bulkhead-omp: the program calls %s, which this runtime does not have: it has no OpenACC\n", name);
  _exit(127);
}

#define MISSING(NODE, NAME)                                                   \
  void bulkhead_missing_##NAME(void) { missing(#NAME); }                      \
  __asm__(".symver bulkhead_missing_" #NAME "," #NAME "@" #NODE);
#include "openacc.h"

static ElfW(Addr) dynamic(const struct link_map *object, ElfW(Sxword) tag) {
  for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == tag)
      return entry->d_un.d_ptr;
  return 0;
}

/* Undefined symbols stand before those that the GNU hash table sorts. */
static int calls_kmpc(const struct link_map *object) {
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic(object, DT_SYMTAB);
  const char *names = (const char *)dynamic(object, DT_STRTAB);
  const Elf32_Word *hash = (const Elf32_Word *)dynamic(object, DT_GNU_HASH);
  if (!symbols || !names || !hash || (ElfW(Addr))symbols < object->l_addr)
    return 0;
  for (Elf32_Word i = 1; i < hash[1]; i++)
    if (symbols[i].st_shndx == SHN_UNDEF && !strncmp(names + symbols[i].st_name, "__kmpc_", 7))
      return 1;
  return 0;
}

/* A program of clang's has its own runtime; preloading this one does not change that. */
static void warn_of_kmpc(void) {
  const char *preloaded = getenv("LD_PRELOAD");
  Dl_info own;
  if (!preloaded || !dladdr((void *)warn_of_kmpc, &own) || !own.dli_fname)
    return;
  const char *slash = strrchr(own.dli_fname, '/');
  if (!strstr(preloaded, slash ? slash + 1 : own.dli_fname))
    return;
  const struct link_map *object;
  void *self = dlopen(NULL, RTLD_LAZY);
  if (!self || dlinfo(self, RTLD_DI_LINKMAP, &object))
    return;
  for (; object; object = object->l_next)
    if (!strstr(object->l_name, "libomp") && !strstr(object->l_name, "libiomp") && calls_kmpc(object)) {
      fprintf(stderr,
              "bulkhead-omp: warning: %s was compiled by clang (it calls __kmpc_ functions): its OpenMP "
              "constructs run on LLVM's runtime, not on this one; compile it by gcc -fopenmp, or do not "
              "preload this library\n",
              object->l_name[0] ? object->l_name : "the program");
      return;
    }
}

__attribute__((constructor)) static void load(void) {
  warn_of_kmpc();
  bulkhead_omp_start();
}

#endif

__attribute__((destructor)) static void unload(void) { bulkhead_omp_stop(); }
