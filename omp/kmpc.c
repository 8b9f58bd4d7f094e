/* Member of the static library that an object compiled by clang pulls in: the link then fails with a name that says why. */
extern void the_object_was_compiled_by_clang__bulkhead_omp_has_the_interface_of_gcc_fopenmp(void);

void __kmpc_fork_call(void) { the_object_was_compiled_by_clang__bulkhead_omp_has_the_interface_of_gcc_fopenmp(); }
