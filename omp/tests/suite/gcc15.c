/* Entry points of GCC 13 to 15, as this compiler's headers do not declare them. */
#define _GNU_SOURCE
#include "../check.h"
#include <dlfcn.h>

int main(void) {
  if (!dlsym(RTLD_DEFAULT, "GOMP_interop"))
    return 0; /* another runtime, older */
  int from[4] = {1, 2, 3, 4}, to[4] = {0};
  int (*copy)(void *, const void *, size_t, size_t, size_t, int, int, int, void *) =
      dlsym(RTLD_DEFAULT, "omp_target_memcpy_async");
  CHECK(copy(to, from, sizeof to, 0, 0, 0, 0, 0, NULL) == 0 && to[3] == 4);
  int (*copy_box)(void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *, const size_t *,
                  const size_t *, int, int, int, void *) = dlsym(RTLD_DEFAULT, "omp_target_memcpy_rect_async");
  size_t volume = 2, offset = 1, all = 4;
  from[1] = 20;
  CHECK(copy_box(to, from, sizeof *to, 1, &volume, &offset, &offset, &all, &all, 0, 0, 0, NULL) == 0 && to[1] == 20);
  void (*mark)(void *) = dlsym(RTLD_DEFAULT, "GOMP_add_alloc");
  _Bool (*is_marked)(void *) = dlsym(RTLD_DEFAULT, "GOMP_is_alloc");
  for (int i = 0; i < 4; i++)
    mark(&from[i]);
  CHECK(!is_marked(to));
  for (int i = 3; i >= 0; i--)
    CHECK(is_marked(&from[i]) && !is_marked(&from[i]));
  void (*interop)(int, int, void ***, const void *, const void *, int, void ***, int, void ***, unsigned, void **) =
      dlsym(RTLD_DEFAULT, "GOMP_interop");
  void *object = &object, **list[] = {&object};
  interop(0, 1, list, NULL, NULL, 0, NULL, 0, NULL, 0, NULL);
  CHECK(object == NULL);
  int (*count)(void *) = dlsym(RTLD_DEFAULT, "omp_get_num_interop_properties");
  long (*integer)(void *, int, int *) = dlsym(RTLD_DEFAULT, "omp_get_interop_int");
  void *(*pointer)(void *, int, int *) = dlsym(RTLD_DEFAULT, "omp_get_interop_ptr");
  char *(*text)(void *, int, int *) = dlsym(RTLD_DEFAULT, "omp_get_interop_str");
  char *(*name)(void *, int) = dlsym(RTLD_DEFAULT, "omp_get_interop_name");
  char *(*type)(void *, int) = dlsym(RTLD_DEFAULT, "omp_get_interop_type_desc");
  char *(*meaning)(void *, int) = dlsym(RTLD_DEFAULT, "omp_get_interop_rc_desc");
  int code = 9;
  CHECK(count(object) == 0 && integer(object, -1, &code) == 0 && code == -1);
  CHECK(!pointer(object, -6, &code) && code == -1 && !text(object, -20, &code) && code == -2);
  CHECK(!strcmp(name(object, -3), "vendor") && !name(object, -10) && !type(object, -1) && meaning(object, 0));
  void (*name_f)(char **, size_t *, void *, int) = dlsym(RTLD_DEFAULT, "omp_get_interop_name_");
  void (*type_f)(char **, size_t *, void *, int) = dlsym(RTLD_DEFAULT, "omp_get_interop_type_desc_");
  void (*meaning_f)(char **, size_t *, void *, int) = dlsym(RTLD_DEFAULT, "omp_get_interop_rc_desc_");
  void (*text_f)(char **, size_t *, void *, int, int *) = dlsym(RTLD_DEFAULT, "omp_get_interop_str_");
  char *result;
  size_t length;
  name_f(&result, &length, object, -3);
  CHECK(length == 6 && !memcmp(result, "vendor", 6));
  type_f(&result, &length, object, -1);
  CHECK(length == 0);
  meaning_f(&result, &length, object, 0);
  CHECK(length > 0);
  text_f(&result, &length, object, -2, &code);
  CHECK(length == 0 && code == -1);
  char *(*uid)(int) = dlsym(RTLD_DEFAULT, "omp_get_uid_from_device");
  int (*device)(const char *) = dlsym(RTLD_DEFAULT, "omp_get_device_from_uid");
  void (*uid_f)(char **, size_t *, int *) = dlsym(RTLD_DEFAULT, "omp_get_uid_from_device_");
  void (*uid_8)(char **, size_t *, long *) = dlsym(RTLD_DEFAULT, "omp_get_uid_from_device_8_");
  int (*device_f)(const char *, size_t) = dlsym(RTLD_DEFAULT, "omp_get_device_from_uid_");
  CHECK(device(uid(0)) == 0 && !uid(5) && device("nothing") < -1);
  int host = 0;
  long host_8 = 0;
  uid_f(&result, &length, &host);
  CHECK(device_f(result, length) == 0);
  uid_8(&result, &length, &host_8);
  CHECK(device_f(result, length) == 0);
  return VERDICT();
}
